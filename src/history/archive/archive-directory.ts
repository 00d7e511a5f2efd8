import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { AppError, messageOf } from '../../platform/base/errors.ts'
import { type WrittenFile, writeJson } from '../durable-files.ts'

/** The archive cannot be made so. Nothing was deleted. */
export class ArchiveError extends AppError {
  override readonly name = 'ArchiveError'
  override readonly code = 'archive.impossible'
  override readonly retryable = false
}

/** One archive runs at a time. */
export class ArchiveRunsError extends AppError {
  override readonly name = 'ArchiveRunsError'
  override readonly code = 'archive.busy'
  override readonly retryable = true

  constructor(holder: string) {
    super(`another archive runs: its lock is ${holder}`)
  }
}

/** What `archive.json` says of the other files of its directory. */
export interface Manifest {
  /** The row of the archive in its database. */
  readonly id: string
  readonly before: string
  /** Empty until all files are written and verified. */
  readonly files: readonly WrittenFile[]
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
  await usable(directory, () => writeJson(path.join(directory, MANIFEST), manifest))
}

/** Deletes the files of an archive that did not come into force. */
export async function clearDirectory(directory: string, names: readonly string[]): Promise<void> {
  await usable(directory, async () => {
    for (const name of [...names, MANIFEST, PARTIAL]) {
      await rm(path.join(directory, name), { force: true })
    }
  })
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
