import { randomInt } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { hasCode, undefinedIfMissing } from './missing-file.ts'
import type { Place } from './postgres-place.ts'

/** Below the ports that systems give to outgoing connections: one of those could sit on ours at a restart. */
const LOWEST_PORT = 20_000
const HIGHEST_PORT = 29_999

/** The port that this home's server had before, or, where there is none or another program has it, a new one. */
export async function choosePort({ portFile }: Place): Promise<number> {
  const kept = Number(await readFile(portFile, 'utf8').catch(undefinedIfMissing))
  if (Number.isInteger(kept) && kept > 1023 && kept < 65_536 && (await isFree(kept))) return kept
  for (;;) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT + 1)
    if (!(await isFree(port))) continue
    await writeFile(portFile, `${port}\n`)
    return port
  }
}

/** Whether a server could listen there now; every other failure than a taken port is thrown. */
export async function isFree(port: number): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>()
  const server = createServer()
  server.once('error', (err) => {
    if (hasCode(err, 'EADDRINUSE')) resolve(false)
    else reject(err)
  })
  server.listen({ port, host: '127.0.0.1' }, () => server.close(() => resolve(true)))
  return promise
}
