/**
 * Follows your feed without a gap, also over restarts of this program and of the server.
 *
 *   FAREWATCH_URL=http://127.0.0.1:8080 FAREWATCH_KEY=fwk_… node examples/follow-stream.ts last-seq.txt
 *
 * The file holds the number of the last record that was applied. Without it the program begins with the present state.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import process from 'node:process'
import { createFarewatch, dataOf, FarewatchError, followWatchChanges } from 'farewatch-client'

const [file = 'last-seq.txt'] = process.argv.slice(2)
const server = {
  baseUrl: process.env.FAREWATCH_URL ?? 'http://127.0.0.1:8080',
  key: process.env.FAREWATCH_KEY,
}

/** Takes the state of all watches, and the number that belongs to it. */
async function takeState(): Promise<number> {
  const { watches, seq } = await dataOf(createFarewatch(server).GET('/api/v1/watch-state'))
  for (const { list, reference, belief } of watches) {
    console.log(`${list} ${reference}: ${belief.state}`)
  }
  await save(seq)
  return seq
}

/** Where the last run ended. */
async function readSaved(): Promise<number | undefined> {
  const saved = await readFile(file, 'utf8').catch(() => undefined)
  return saved === undefined ? undefined : Number(saved)
}

/** A rename replaces the file in one step, so that it always holds a whole number. */
async function save(seq: number): Promise<void> {
  await writeFile(`${file}.new`, String(seq))
  await rename(`${file}.new`, file)
}

async function follow(after: number): Promise<void> {
  console.log(`following after ${after}`)
  for await (const record of followWatchChanges({ ...server, after })) {
    const { seq, list, reference, kind } = record
    // A record about a route has no state of a fare.
    const state = 'after' in record ? `, ${record.after.state}` : ''
    console.log(`${seq} ${list} ${reference}: ${kind}${state}`)
    // After the record is applied: if this program is killed here, it receives the record again.
    await save(seq)
  }
}

/** The database was restored, or records were archived while this program did not run. */
const OUTSIDE = new Set(['changes.restored', 'changes.archived', 'changes.beyond_head'])

let after = (await readSaved()) ?? (await takeState())
for (;;) {
  try {
    await follow(after)
  } catch (err) {
    // The feed has lost what this program has, or what it lacks: only the state is sure.
    if (!(err instanceof FarewatchError && OUTSIDE.has(err.problem.code))) throw err
    console.log(err.message)
    after = await takeState()
  }
}
