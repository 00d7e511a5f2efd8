"""A receiver of webhooks that knows nothing but the signing secret and the files of docs/events.

It reads cases from the standard input, one JSON object a line with headers, body and secret, and prints for each what it
understood. Standard library only.
"""

import base64
import hashlib
import hmac
import json
import pathlib
import sys

FOLDER = pathlib.Path(sys.argv[1])
TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
NOTES = {"$schema", "$id", "$defs", "title", "description", "format", "x-extensible-enum"}


def verify(headers, body, secret):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}".encode()
    own = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(one, own) for one in headers["webhook-signature"].split(" "))


def faults(value, schema, root, place="$"):
    """What of a value its schema does not allow. A keyword outside of the named subset is a fault too."""
    found = []
    for keyword, given in schema.items():
        if keyword == "type":
            names = [given] if isinstance(given, str) else given
            if not any(TYPES[name](value) for name in names):
                found.append(f"{place} is no {' or '.join(names)}")
        elif keyword == "enum":
            if value not in given:
                found.append(f"{place} is none of {given}")
        elif keyword == "required":
            if isinstance(value, dict):
                found += [f"{place} lacks {name}" for name in given if name not in value]
        elif keyword == "properties":
            if isinstance(value, dict):
                for name in given.keys() & value.keys():
                    found += faults(value[name], given[name], root, f"{place}.{name}")
        elif keyword == "items":
            if isinstance(value, list):
                for at, item in enumerate(value):
                    found += faults(item, given, root, f"{place}[{at}]")
        elif keyword == "anyOf":
            if all(faults(value, one, root, place) for one in given):
                found.append(f"{place} fits no form")
        elif keyword == "$ref":
            name = given.removeprefix("#/$defs/")
            found += faults(value, root["$defs"][name], root, place)
        elif keyword not in NOTES:
            found.append(f"the schema has {keyword}")
    return found


def known(value, schema, root):
    """The members of a value that its schema describes: a reader relies on no other."""
    if "$ref" in schema:
        return known(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    if "anyOf" in schema:
        return next(known(value, one, root) for one in schema["anyOf"] if not faults(value, one, root))
    if isinstance(value, dict) and "properties" in schema:
        described = schema["properties"]
        return {name: known(value[name], described[name], root) for name in described if name in value}
    if isinstance(value, list) and "items" in schema:
        return [known(item, schema["items"], root) for item in value]
    return value


def read(case):
    if not verify(case["headers"], case["body"], case["secret"]):
        return {"refused": "signature"}
    event = json.loads(case["body"])
    file = FOLDER / f"{event.get('type')}.schema.json"
    if not file.is_file():
        return {"refused": "unknown type"}
    schema = json.loads(file.read_text(encoding="utf-8"))
    found = faults(event, schema, schema)
    return {"faults": found} if found else {"read": known(event, schema, schema)}


for line in sys.stdin:
    print(json.dumps(read(json.loads(line))))
