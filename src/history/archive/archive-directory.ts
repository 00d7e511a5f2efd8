import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { AppError, messageOf } from '../../platform/base/errors.ts'

/** The archive cannot be made so. Nothing was deleted. */
export class ArchiveError extends AppError {
  override readonly name = 'ArchiveError'
  override readonly code = 'archive.impossible'
  override readonly retryable = false
}

/** What `archive.json` says of the other files of its directory. */
export interface Manifest {
  /** The row of the archive in its database. */
  readonly id: string
  readonly before: string
  /** Empty until all files are written and verified. */
  readonly files: readonly ArchivedFile[]
}

export interface ArchivedFile {
  readonly name: string
  readonly rows: number
  readonly bytes: number
  readonly sha256: string
}

const MANIFEST = 'archive.json'
const PARTIAL = `${MANIFEST}.partial`

/**
 * Creates the directory if it is missing, and reads what archive is in it; undefined if it is empty. Throws
 * ArchiveError if it cannot be used or holds anything else.
 */
export async function readDirectory(directory: string): Promise<Manifest | undefined> {
  const names = await usable(directory, async () => {
    await mkdir(directory, { recursive: true })
    return (await readdir(directory)).filter((name) => name !== PARTIAL)
  })
  if (names.length === 0) return undefined
  if (names.includes(MANIFEST)) {
    const text = await usable(directory, () => readFile(path.join(directory, MANIFEST), 'utf8'))
    const manifest = parseManifest(text)
    if (manifest !== undefined) return manifest
  }
  throw new ArchiveError(`${directory} is not empty: choose an empty or a new directory`)
}

function parseManifest(text: string): Manifest | undefined {
  try {
    const value = JSON.parse(text) as Partial<Manifest> | null
    const isOurs = typeof value?.id === 'string' && typeof value.before === 'string'
    return isOurs && Array.isArray(value.files) ? (value as Manifest) : undefined
  } catch {
    return undefined
  }
}

/**
 * Marks the directory as that of an archive, or says that its files are complete. Survives a crash as the old or
 * the new text.
 */
export async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  await usable(directory, async () => {
    const partial = path.join(directory, PARTIAL)
    await writeFile(partial, `${JSON.stringify(manifest, null, 2)}\n`, { flush: true })
    await rename(partial, path.join(directory, MANIFEST))
    await flushDirectory(directory)
  })
}

/** Deletes the files of an archive that did not come into force. */
export async function clearDirectory(directory: string, names: readonly string[]): Promise<void> {
  await usable(directory, async () => {
    for (const name of [...names, MANIFEST, PARTIAL]) {
      await rm(path.join(directory, name), { force: true })
    }
  })
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
export async function measureFile(file: string): Promise<Pick<ArchivedFile, 'bytes' | 'sha256'>> {
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
async function flushDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The codes of a directory that the user can replace with another one. */
const UNUSABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENAMETOOLONG'])

async function usable<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (err) {
    if (!UNUSABLE.has((err as { code?: string }).code ?? '')) throw err
    throw new ArchiveError(`${directory} cannot be written: ${messageOf(err)}`, { cause: err })
  }
}
