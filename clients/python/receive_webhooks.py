"""Receives webhooks: verifies each, ignores those that it has already, and reports missing ones.

    WEBHOOK_SECRET=whsec_… PORT=8089 python3 receive_webhooks.py
"""

import base64
import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

TOLERANCE_SECONDS = 300


class WebhookError(Exception):
    """The request is not a webhook of farewatch for these secrets."""


def verify_webhook(headers, body: bytes, secrets: list[str], now: float | None = None) -> dict:
    """The event of a request whose bytes one of the secrets has signed within five minutes."""
    webhook_id, timestamp = headers.get("webhook-id"), headers.get("webhook-timestamp", "")
    given = headers.get("webhook-signature", "").split(" ")
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    if not any(_signs(secret, signed, given) for secret in secrets):
        raise WebhookError("no signature of the secret")
    age = (time.time() if now is None else now) - int(timestamp)
    if abs(age) > TOLERANCE_SECONDS:
        raise WebhookError(f"the time is more than {TOLERANCE_SECONDS} seconds away")
    return json.loads(body)


def _signs(secret: str, signed: bytes, given: list[str]) -> bool:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    own = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(own.encode(), one.encode()) for one in given)


class Receiver(BaseHTTPRequestHandler):
    """A real receiver keeps these two in its database, in the transaction that applies the record."""

    seen: set[str] = set()
    last: int | None = None

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            event = verify_webhook(self.headers, body, os.environ["WEBHOOK_SECRET"].split(","))
        except (WebhookError, ValueError) as err:
            print(f"refused: {err}", flush=True)
            self.send_response(400)
        else:
            if self.headers["webhook-id"] not in Receiver.seen:
                apply(event)
            Receiver.seen.add(self.headers["webhook-id"])
            # Any 2xx says that the message is kept. Answer quickly, and work afterwards.
            self.send_response(204)
        self.end_headers()

    def log_message(self, *_args) -> None:
        pass


def apply(event: dict) -> None:
    kind, data = event["type"], event["data"]
    # Other events are about the endpoint itself, or examples, which are not part of the feed.
    if "seq" not in data:
        print(kind, flush=True)
        return
    seq, last = data["seq"], Receiver.last
    # Deliveries run in parallel: what is missing here may still be on its way. After a while, read the feed after `last`.
    if last is not None and data["previous"] > last:
        print(f"missing: {data['previous']}, after {last}", flush=True)
    Receiver.last = max(last or 0, seq)
    print(f"{kind} {seq} {data['list']} {data['reference']}: {data['after']['state']}", flush=True)


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8089"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
