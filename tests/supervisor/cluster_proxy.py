"""A TCP proxy between a node and nats-server, in the test's own process, with the faults of a network: a partition, half
of one, delay and reset. As in a real network, bytes that do not pass are not lost while the connection lives: they
arrive late, also those of a side that has closed its end meanwhile.
"""
import asyncio
import contextlib
import socket
import struct
import threading

OUT, IN = "out", "in"  # from the node to the server, and back
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends a reset
MOST_HELD = 64 << 20  # bytes of a direction


class Proxy:
    def __init__(self, server_port):
        self.server_port, self.port = server_port, None
        self.held, self.delay_s = set(), 0.0
        self.writers, self.tasks = set(), set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.listener = self.run(asyncio.start_server(self.accept, "127.0.0.1", 0))
        self.port = self.listener.sockets[0].getsockname()[1]

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(20)

    def hold(self, *directions):
        """Bytes of these directions (none: both) do not pass until heal(), and connections stay open."""
        self.held = set(directions or (OUT, IN))

    def delay(self, seconds):
        self.delay_s = seconds

    def heal(self):
        self.held, self.delay_s = set(), 0.0

    def reset(self):
        """Ends all connections at once, on both sides, and drops what is under way."""
        self.run(self.reset_all())

    async def reset_all(self):
        for writer in list(self.writers):
            with contextlib.suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            writer.transport.abort()

    async def accept(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        self.writers.add(writer)
        far_writer = None
        try:
            far_reader, far_writer = await self.connect()
            self.writers.add(far_writer)
            await asyncio.gather(self.pass_on(OUT, reader, far_writer), self.pass_on(IN, far_reader, writer))
        except OSError:
            pass
        finally:
            for one in (writer, far_writer):
                if one:
                    self.writers.discard(one)
                    one.close()
            self.tasks.discard(asyncio.current_task())

    async def connect(self):
        """A server that is not there does not answer, as a machine that is off."""
        while True:
            with contextlib.suppress(ConnectionRefusedError):
                return await asyncio.open_connection("127.0.0.1", self.server_port)
            await asyncio.sleep(0.1)

    async def pass_on(self, direction, reader, writer):
        """Reads at once, and writes when the direction is open and the delay is over."""
        queue, held = asyncio.Queue(), 0

        async def read():
            nonlocal held
            data = b"-"
            while data:
                try:
                    data = await reader.read(1 << 16)
                except OSError:
                    data = b""
                held += len(data)
                queue.put_nowait((self.loop.time() + self.delay_s, data))
                while held > MOST_HELD:
                    await asyncio.sleep(0.05)

        reading = asyncio.ensure_future(read())
        try:
            while True:
                due, data = await queue.get()
                while direction in self.held or self.loop.time() < due:
                    await asyncio.sleep(0.005 if direction not in self.held else 0.02)
                if not data:
                    with contextlib.suppress(OSError):
                        writer.write_eof()
                    return
                held -= len(data)
                writer.write(data)
                await writer.drain()
        finally:
            reading.cancel()

    def close(self):
        async def end():
            self.listener.close()
            await self.reset_all()
            for task in list(self.tasks):
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)
        self.run(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()
