"""Writes the rows of sd-bus tables from descriptions of D-Bus interfaces: OUTPUT/NAME_rows.h for units/dbus/*.NAME.xml.

A method MakeIt is handled by BusObjects::make_it(). A property CPUUSec is read from NameProperties::cpu_usec by
name_property(). The compiler names what is missing. The Manager has another file: its properties whose changes are
announced, for the comparison of two ManagerProperties.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

# What the descriptions do not say: members that rooms bring (offered_members.h), and those with secret arguments.
OF_ROOMS = {"BeginLogin", "DiskProblem", "FinishLogin", "ForgetSearches", "ListServers", "LogOut", "TestServer"}
SECRET = {"RevealApproval"}
CHANGES = "org.freedesktop.DBus.Property.EmitsChangedSignal"
FLAGS = {"const": "SD_BUS_VTABLE_PROPERTY_CONST", "invalidates": "SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION",
         "true": "SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE", "false": "0"}


def member_name(name):
    """list_nodes for ListNodes, cpu_usage_usec for CPUUsageUSec"""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.replace("USec", "Usec")).lower()


def changes_of(element):
    return next((one.get("value") for one in element.iter("annotation") if one.get("name") == CHANGES), "true")


def arguments(element, direction, form, empty):
    pairs = [f'"{one.get("type")}", {one.get("name")}' for one in element.iter("arg")
             if one.get("direction", "out") == direction]
    return f"{form}({', '.join(pairs)})" if pairs else empty


def row(interface, element):
    name = element.get("name")
    if element.tag == "property":
        getter = f"{interface.lower()}_property<&{interface}Properties::{member_name(name)}>"
        return f'SD_BUS_PROPERTY("{name}", "{element.get("type")}", {getter}, 0, {FLAGS[changes_of(element)]}),'
    results = arguments(element, "out", "SD_BUS_RESULT", "SD_BUS_NO_RESULT")
    if element.tag == "signal":
        return f'SD_BUS_SIGNAL_WITH_ARGS("{name}", {results.replace("SD_BUS_RESULT", "SD_BUS_ARGS")}, 0),'
    flags = "kEveryone | SD_BUS_VTABLE_SENSITIVE" if name in SECRET else "kEveryone"
    return (f'SD_BUS_METHOD_WITH_ARGS("{name}", {arguments(element, "in", "SD_BUS_ARGS", "SD_BUS_NO_ARGS")}, {results}, '
            f"handle<&BusObjects::{member_name(name)}>, {flags}),")


def main(output, *descriptions):
    for description in descriptions:
        interface = description.split(".")[-2]
        members = [element for element in ElementTree.parse(description).getroot().find("interface")
                   if element.tag != "annotation" and element.get("name") not in OF_ROOMS]
        folder = pathlib.Path(output)
        rows = [row(interface, element) for element in members]
        (folder / f"{interface.lower()}_rows.h").write_text("\n".join(rows) + "\n")
        announced = [element.get("name") for element in members
                     if element.tag == "property" and changes_of(element) == "true"]
        if interface == "Manager":
            (folder / "manager_announced.h").write_text("".join(
                f'{{"{name}", same<&ManagerProperties::{member_name(name)}>}},\n' for name in announced))


if __name__ == "__main__":
    main(*sys.argv[1:])
