/**
 * A process that uses the embedded PostgreSQL of a home, for the tests to start and to kill.
 *
 * Prints one JSON line once it has the server (or could not have it), then obeys: a line on its input makes it
 * release and say so; with `abandon` it just comes to its end.
 */
import { once } from 'node:events'
import { codeOf, messageOf } from '../../src/base/errors.ts'
import { acquireEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { FAST, quietLogger } from './fast-postgres.ts'

const [home = '', mode] = process.argv.slice(2)

function say(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

try {
  const server = await acquireEmbeddedPostgres({ home, log: quietLogger(), settings: FAST })
  say({ url: server.url, port: server.port, startedHere: server.startedHere })
  if (mode !== 'abandon') {
    await once(process.stdin, 'data')
    await server.release()
    say({ released: true })
    process.stdin.destroy()
  }
} catch (err) {
  say({ code: codeOf(err), message: messageOf(err) })
}
