// The Python module _warder_fork: serve(child, rehearse) answers fork orders and calls child() in each new runner.
// Before the first order it calls rehearse() in a copy that ends afterwards. It uses Python's stable ABI, so one build
// serves every python3 from 3.11 on.
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "jail/zygote/fork.h"

namespace {

PyObject* child_function = nullptr;

void run_child(bool) {
  PyOS_AfterFork_Child();
  PyObject* answer = PyObject_CallNoArgs(child_function);
  if (!answer) PyErr_Print();  // to the jail's stderr
}

PyObject* serve(PyObject*, PyObject* child) {
  if (!PyCallable_Check(child)) {
    PyErr_SetString(PyExc_TypeError, "serve() takes a function that the child calls");
    return nullptr;
  }
  child_function = child;
  jail::zygote::serve({PyOS_BeforeFork, PyOS_AfterFork_Parent, run_child, true});
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"serve", serve, METH_O, "Forks jails until the daemon closes its socket."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "_warder_fork", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__warder_fork() { return PyModule_Create(&module); }
