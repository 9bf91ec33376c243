// The Python module _warder_fork: serve(child, rehearse) answers fork orders and calls child() in each new runner.
// Before the first order it calls rehearse() in a copy that ends afterwards. It uses Python's stable ABI, so one build
// serves every python3 from 3.11 on.
#define Py_LIMITED_API 0x030b0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "jail/zygote/fork.h"

namespace {

PyObject* child_function = nullptr;
PyObject* rehearse_function = nullptr;

void call_in_copy(PyObject* function) {
  PyOS_AfterFork_Child();
  PyObject* answer = PyObject_CallNoArgs(function);
  if (!answer) PyErr_Print();  // to the jail's stderr
}

void run_child(bool) { call_in_copy(child_function); }
void rehearse() { call_in_copy(rehearse_function); }

PyObject* serve(PyObject*, PyObject* arguments) {
  if (!PyArg_ParseTuple(arguments, "OO", &child_function, &rehearse_function)) return nullptr;
  if (!PyCallable_Check(child_function) || !PyCallable_Check(rehearse_function)) {
    PyErr_SetString(PyExc_TypeError, "serve() takes two functions");
    return nullptr;
  }
  jail::zygote::serve({PyOS_BeforeFork, PyOS_AfterFork_Parent, run_child, rehearse});
  Py_RETURN_NONE;
}

PyMethodDef methods[] = {{"serve", serve, METH_VARARGS, "Forks jails until the daemon closes its socket."},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef module = {PyModuleDef_HEAD_INIT, "_warder_fork", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__warder_fork() { return PyModule_Create(&module); }
