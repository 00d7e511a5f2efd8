import { randomInt, randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../platform/base/clock.ts'
import { processMark } from './live-process.ts'
import { EmbeddedPostgresError, hasCode, undefinedIfMissing } from './postgres-errors.ts'

/** A holder may run initdb and a first start on a slow disk. */
const LOCK_TIMEOUT_MS = 120_000

/** The entry of this process in a folder. It counts until the process leaves or dies. */
export interface Presence {
  readonly name: string
  leave(): Promise<void>
}

/**
 * Enters this process into `folder`.
 *
 * The name of an entry identifies its process, so presence never depends on a complete file. No name is used twice, so
 * removing a dead entry cannot remove a living one.
 * @param text what readEntries returns to other processes.
 */
export async function enter(folder: string, text = ''): Promise<Presence> {
  const mark = await processMark(process.pid)
  if (mark === undefined) throw new Error('this process cannot find its own start time')
  await mkdir(folder, { recursive: true })
  const name = `${process.pid}-${mark}-${randomUUID()}`
  const path = join(folder, name)
  await writeFile(path, text, { flag: 'wx', mode: 0o600 })
  return { name, leave: () => rm(path, { force: true }) }
}

/** The entries of living processes. Removes the others. */
export async function livingEntries(folder: string): Promise<string[]> {
  const names = (await readdir(folder).catch(undefinedIfMissing)) ?? []
  const living = await Promise.all(names.map(isLiving))
  const dead = names.filter((_, index) => living[index] === false)
  await Promise.all(dead.map((name) => rm(join(folder, name), { force: true })))
  return names.filter((_, index) => living[index] === true)
}

/** Whether another process has an entry. For the event `exit`, where nothing asynchronous runs any more. */
export function hasOthersSync(folder: string): boolean {
  const names = existsSync(folder) ? readdirSync(folder) : []
  const pids = names.map((name) => Number(name.split('-')[0])).filter((pid) => pid !== process.pid)
  return pids.some((pid) => {
    try {
      return process.kill(pid, 0)
    } catch (err) {
      // A process of another user exists too.
      return !hasCode(err, 'ESRCH')
    }
  })
}

/** The texts of the entries of living processes. A text that is being written may be incomplete. */
export async function readEntries(folder: string): Promise<string[]> {
  const names = await livingEntries(folder)
  const texts = await Promise.all(
    names.map((name) => readFile(join(folder, name), 'utf8').catch(undefinedIfMissing)),
  )
  return texts.filter((text) => text !== undefined)
}

/**
 * Runs `work` under a lock on the folder, across processes and calls.
 *
 * A caller enters, then reads the entries. If it is alone, it holds the lock; otherwise it leaves and tries again. Of two
 * overlapping callers at least one sees the other. The entry of a killed holder no longer counts, so no lock needs to be
 * broken. Throws `embedded.busy` after two minutes.
 */
export async function exclusively<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const held = await acquireLock(folder)
  try {
    return await work()
  } finally {
    await held.leave()
  }
}

async function acquireLock(folder: string): Promise<Presence> {
  const deadline = performance.now() + LOCK_TIMEOUT_MS
  for (;;) {
    const holders = await livingEntries(folder)
    if (holders.length === 0) {
      const mine = await enter(folder)
      const others = (await livingEntries(folder)).filter((name) => name !== mine.name)
      if (others.length === 0) return mine
      await mine.leave()
    } else if (performance.now() > deadline) {
      throw busyError(folder, holders)
    }
    await systemClock.sleep(randomInt(5, 50))
  }
}

function busyError(folder: string, holders: readonly string[]): EmbeddedPostgresError {
  const pids = holders.map((name) => name.split('-')[0]).join(', ')
  return new EmbeddedPostgresError(
    'busy',
    `process ${pids} has been starting or stopping the embedded PostgreSQL for over two minutes ` +
      `(its entry is in ${folder}): wait for it, or end it, and try again`,
  )
}

async function isLiving(name: string): Promise<boolean> {
  const [pid, mark] = name.split('-')
  return mark !== undefined && (await processMark(Number(pid))) === mark
}
