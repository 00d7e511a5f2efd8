import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { open, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'

/** A complete file, as a manifest names it. */
export interface WrittenFile {
  /** Its path below the directory of the manifest. */
  readonly name: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
}

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

/** The size and the hash of a file. */
export async function measureFile(file: string): Promise<Pick<WrittenFile, 'bytes' | 'sha256'>> {
  const hash = createHash('sha256')
  let bytes = 0
  await pipeline(createReadStream(file), async (parts) => {
    for await (const part of parts as AsyncIterable<Buffer>) {
      hash.update(part)
      bytes += part.length
    }
  })
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

/** The JSON of a file; undefined if there is no such file. Throws SyntaxError. */
export async function readJson(file: string): Promise<unknown> {
  const text = await readFile(file, 'utf8').catch((err: { code?: string }) => {
    if (err.code === 'ENOENT') return undefined
    throw err
  })
  return text === undefined ? undefined : (JSON.parse(text) as unknown)
}
