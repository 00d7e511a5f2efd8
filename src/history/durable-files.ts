import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { open, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'

/** Writes one file and waits until it is on the disk. */
export async function writeFlushed<T>(
  file: string,
  write: (out: Writable) => Promise<T>,
): Promise<T> {
  const out = createWriteStream(file, { flush: true })
  const ended = finished(out)
  try {
    // Of a stream that has failed no part is taken: without the race, a full disk would be waited for.
    const result = await Promise.race([write(out), ended.then(() => neverWritten())])
    out.end()
    await ended
    return result
  } catch (err) {
    ended.catch(() => undefined)
    // A stream that is still opening its file would make it again after it was removed.
    await finished(out.destroy()).catch(() => undefined)
    throw err
  }
}

function neverWritten(): never {
  throw new Error('the file was closed before it was written')
}

/** What shows that a file is the one that was written. */
export interface Measure {
  readonly bytes: number
  readonly sha256: string
}

/** Reads to the end of a file. */
export async function measure(content: Readable): Promise<Measure> {
  const hash = createHash('sha256')
  let bytes = 0
  for await (const part of content as AsyncIterable<Buffer>) {
    hash.update(part)
    bytes += part.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** After a crash the names of new files are there too. */
export async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Replaces a file with a value as JSON. It survives a crash as the old or the new text. */
export async function writeJson(file: string, value: unknown): Promise<void> {
  const partial = `${file}.partial`
  await writeFile(partial, `${JSON.stringify(value, null, 2)}\n`, { flush: true })
  await rename(partial, file)
  await flushDirectory(path.dirname(file))
}

/** Undefined if there is no such file. */
export async function unlessMissing<T>(read: Promise<T>): Promise<T | undefined> {
  return read.catch((err: { code?: string }) => {
    if (err.code === 'ENOENT') return undefined
    throw err
  })
}

/** Undefined if a text is no JSON of the form. */
export function parseIf<T>(text: string, isOurs: (value: Partial<T>) => boolean): T | undefined {
  try {
    const value = JSON.parse(text) as T
    return isOurs(value as Partial<T>) ? value : undefined
  } catch {
    return undefined
  }
}
