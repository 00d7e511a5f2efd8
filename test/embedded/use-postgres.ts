/**
 * A process that uses the embedded PostgreSQL of a home. Tests start and kill it.
 *
 * It prints one JSON line with the server or the error. A line on its input makes it release the server and print a second
 * line. With `abandon` it ends without a release, with `join` it uses the server of another process.
 */
import { once } from 'node:events'
import { acquireEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { codeOf, messageOf } from '../../src/platform/base/errors.ts'
import { silentLog } from '../support/silent-log.ts'
import { FAST } from './fast-postgres.ts'

const [home = '', mode] = process.argv.slice(2)

function printLine(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

try {
  const server = await acquireEmbeddedPostgres({
    ...{ home, log: silentLog, settings: FAST },
    join: mode === 'join',
  })
  printLine({ url: server.url, port: server.port })
  if (mode !== 'abandon') {
    await once(process.stdin, 'data')
    await server.release()
    printLine({ released: true })
    process.stdin.destroy()
  }
} catch (err) {
  printLine({ code: codeOf(err), message: messageOf(err) })
}
