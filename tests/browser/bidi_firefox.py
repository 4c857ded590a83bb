"""Debian's Firefox for Playwright: start it as `python bidi_firefox.py firefox-esr ARGUMENTS`, as Playwright does.

Playwright drives a Firefox as it is sold over WebDriver BiDi, but first tells it which colours to prefer, which version
153 cannot be told, and more that version 140 cannot. This program starts Firefox, stands between the two, and answers
yes where Firefox answers that it does not know how. What should be preferred is said in Firefox's settings instead
(engines.py); what is collected and downloaded, no test needs.
"""

import asyncio
import json
import re
import sys

from tornado import httpserver, netutil, web, websocket

TOLERATED = ("emulation.", "network.addDataCollector", "browser.setDownloadBehavior")  # how they begin
LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")


class Between(websocket.WebSocketHandler):
    """Hands each message on."""

    firefox = ""  # its address

    async def open(self, *args):
        self.asked = set()
        self.other = await websocket.websocket_connect(Between.firefox + self.request.path, max_message_size=2**30)
        self.back = asyncio.ensure_future(self.hand_back())

    async def on_message(self, message):
        command = json.loads(message)
        if command["method"].startswith(TOLERATED):
            self.asked.add(command["id"])
        await self.other.write_message(message)

    async def hand_back(self):
        while (message := await self.other.read_message()) is not None:
            answer = json.loads(message)
            if answer.get("id") in self.asked and answer.get("error") == "unknown command":
                message = json.dumps({"type": "success", "id": answer["id"], "result": {}})
            await self.write_message(message)
        self.close()

    def on_close(self):
        self.other.close()


async def main():
    firefox = await asyncio.create_subprocess_exec(*sys.argv[1:], stderr=asyncio.subprocess.PIPE)
    async for line in firefox.stderr:
        if found := LISTENING.search(line):
            Between.firefox = found[1].decode()
            sockets = netutil.bind_sockets(0, "127.0.0.1")
            server = httpserver.HTTPServer(web.Application([("/.*", Between)], websocket_max_message_size=2**30))
            server.add_sockets(sockets)
            line = f"WebDriver BiDi listening on ws://127.0.0.1:{sockets[0].getsockname()[1]}\n".encode()
        sys.stderr.buffer.write(line)
        sys.stderr.buffer.flush()
    return await firefox.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
