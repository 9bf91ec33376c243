"""MCP servers with sample data, one kind a process: python3 office.py KIND.

Everything they answer is made by rule, so that an example's answer is true on every machine. Stdio, by handshake; what a
tool changes it forgets when it ends.
"""
import json
import sqlite3
import sys

REGIONS = ("north", "south", "east", "west")
STATES = ("paid", "paid", "pending", "paid", "refunded", "pending")
LEADS = 240


class ToolError(Exception):
    pass


def tool(name, description, required=(), **properties):
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()},
              "required": list(required), "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema}


class Drive:
    """Documents: the minutes of a call with a customer, as long as such minutes are."""
    TOOLS = [
        tool("list_documents", "Lists the documents of a folder with their ids.", ["folder"], folder="string"),
        tool("get_document", "Returns a document with its whole text.", ["document_id"], document_id="string"),
    ]
    TOPICS = ("the delivery dates of the second phase", "who signs the data processing agreement", "training for the new staff",
              "the interface to their warehouse", "prices from April on", "the test plan", "access for the auditors")

    def list_documents(self, folder):
        return [{"id": f"call-{n}", "title": f"Call with customer {n}", "folder": folder} for n in (1, 2, 3)]

    def get_document(self, document_id):
        lines = []
        for minute in range(0, 60):
            speaker = ("Ada", "Grace", "Edsger")[minute % 3]
            lines.append(f"[00:{minute:02}:00] {speaker}: On {self.TOPICS[minute % 7]}: we went through the list of last week, "
                         f"point {minute + 1} is settled as it stands there, and nobody objected.")
            if minute % 20 == 19:
                lines.append(f"[00:{minute:02}:40] ACTION: {speaker} sends a proposal on {self.TOPICS[minute % 7]}.")
        return {"id": document_id, "title": "Call with customer 2", "text": "\n".join(lines)}


class Crm:
    """Customers: pages of leads, and records that can be changed."""
    TOOLS = [
        tool("list_leads", "Lists leads, 20 a page, with name, region, score and notes. Pages count from 1.", ["page"],
             page="integer"),
        tool("update_record", "Changes fields of a record.", ["kind", "record_id", "fields"], kind="string",
             record_id="string", fields="object"),
    ]

    def list_leads(self, page):
        first = (page - 1) * 20
        return {"page": page, "pages": LEADS // 20, "leads": [
            {"id": f"lead-{n}", "name": f"Company {n}", "region": REGIONS[n * 7 % 4], "score": n * 37 % 100,
             "notes": f"Met at fair {n % 5}; asked for an offer of {n * 13 % 90 + 10} seats."} for n in range(first, first + 20)]}

    def update_record(self, kind, record_id, fields):
        return {"updated": f"{kind}/{record_id}", "fields": sorted(fields), "bytes": len(json.dumps(fields))}


class Sheets:
    """Tables: a year's orders."""
    TOOLS = [
        tool("list_sheets", "Lists the sheets with their numbers of rows."),
        tool("get_rows", "Returns all rows of a sheet as objects.", ["sheet"], sheet="string"),
    ]

    def list_sheets(self):
        return [{"sheet": "orders", "rows": 1000}]

    def get_rows(self, sheet):
        if sheet != "orders":
            raise ToolError(f"there is no sheet {sheet!r}")
        return [{"order": 10_000 + n, "customer": f"Company {n * 31 % 240}", "region": REGIONS[n * 11 % 4],
                 "status": STATES[n * 5 % 6], "amount": n * 7919 % 2400} for n in range(1000)]


class Deploys:
    """A build that takes a while, on a service that now and then cannot be reached."""
    TOOLS = [
        tool("start", "Begins to bring a version of a service into production.", ["service", "version"], service="string",
             version="string"),
        tool("status", "Says how far a deployment is: building, testing, rolling out, live or failed.", ["service"],
             service="string"),
        tool("roll_back", "Brings back the version that ran before.", ["service"], service="string"),
    ]
    STEPS = ("building", "building", None, "testing", "rolling out", None, "live")

    def __init__(self):
        self.asked = {}

    def start(self, service, version):
        self.asked[service] = 0
        return {"service": service, "version": version, "state": "queued"}

    def status(self, service):
        if service not in self.asked:
            raise ToolError(f"nothing was started for {service}")
        step = self.STEPS[min(self.asked[service], len(self.STEPS) - 1)]
        self.asked[service] += 1
        if step is None:
            raise ToolError("the build service did not answer in time, try again")
        if service == "search" and step == "rolling out":
            return {"service": service, "state": "failed", "reason": "3 of 40 checks failed"}
        return {"service": service, "state": step}

    def roll_back(self, service):
        return {"service": service, "state": "rolled back"}


class Database:
    """SQL: a table `sales`."""
    TOOLS = [tool("query", "Runs one SELECT on the sales database and returns its rows as objects.", ["query"], query="string")]

    def __init__(self):
        self.connection = sqlite3.connect(":memory:")
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("CREATE TABLE sales (id INTEGER PRIMARY KEY, date TEXT, region TEXT, product TEXT, amount REAL)")
        self.connection.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?)", (
            (n, f"{2023 + n % 2}-{n % 12 + 1:02}-{n % 28 + 1:02}", REGIONS[n % 4], f"product {n % 9}", (n * 7919 % 40_000) / 4)
            for n in range(800)))
        self.connection.execute("PRAGMA query_only = 1")

    def query(self, query):
        try:
            return [dict(row) for row in self.connection.execute(query)]
        except sqlite3.Error as e:
            raise ToolError(str(e)) from None


class Contacts:
    """A sheet of customers, with personal data."""
    TOOLS = [tool("get_sheet", "Returns all rows of a sheet as objects.", ["sheet_id"], sheet_id="string")]
    NAMES = ("Ada", "Grace", "Edsger", "Barbara", "Donald", "Frances")

    def get_sheet(self, sheet_id):
        return [{"contact": f"contact-{n}", "name": self.NAMES[n % 6], "email": f"{self.NAMES[n % 6].lower()}.{n}@example.com",
                 "phone": f"555-{n * 37 % 900 + 100}-{n * 7919 % 9000 + 1000}"} for n in range(60)]


class Calculator:
    """Arithmetic."""
    TOOLS = [
        tool("add", "Adds two numbers.", ["a", "b"], a="number", b="number"),
        tool("multiply", "Multiplies two numbers.", ["a", "b"], a="number", b="number"),
        tool("calculate", "Calculates an arithmetic expression of two numbers, for example 5 + 3.", ["expression"],
             expression="string"),
    ]

    def add(self, a, b):
        return a + b

    def multiply(self, a, b):
        return a * b

    def calculate(self, expression):
        a, sign, b = expression.split()
        if sign not in "+-*":
            raise ToolError(f"{sign!r} is not known")
        return {"+": float(a) + float(b), "-": float(a) - float(b), "*": float(a) * float(b)}[sign]


class Weather:
    """The weather of a city, always the same."""
    TOOLS = [
        tool("get_weather", "Returns the weather of a city now.", ["city"], city="string"),
        tool("get_forecast", "Returns the forecast of a city, by the hour.", ["city", "days"], city="string", days="integer"),
    ]

    def get_weather(self, city):
        return {"city": city, "celsius": len(city) * 3, "sky": "cloudy"}

    def get_forecast(self, city, days):
        return [{"day": n // 24 + 1, "hour": n % 24, "celsius": 10 + n * 7 % 12, "rain_mm": n * 5 % 4, "wind_kmh": n * 11 % 30}
                for n in range(days * 24)]


KINDS = {kind.__name__.lower(): kind for kind in (Calculator, Contacts, Crm, Database, Deploys, Drive, Sheets, Weather)}


def answer(server, method, params):
    if method == "initialize":
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "office", "version": "1"}}
    if method == "tools/list":
        return {"tools": server.TOOLS}
    if method == "tools/call" and params["name"] in [tool["name"] for tool in server.TOOLS]:
        try:
            value = getattr(server, params["name"])(**params.get("arguments", {}))
        except ToolError as e:
            return {"content": [{"type": "text", "text": str(e)}], "isError": True}
        return {"content": [{"type": "text", "text": json.dumps(value)}]}
    return None


def main():
    server = KINDS[sys.argv[1]]()
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        result = answer(server, asked["method"], asked.get("params", {}))
        reply = {"result": result} if result else {"error": {"code": -32601, "message": f"no method {asked['method']}"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
