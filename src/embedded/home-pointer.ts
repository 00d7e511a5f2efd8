import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasCode, undefinedIfMissing } from './missing-file.ts'
import { EmbeddedPostgresError } from './postgres-errors.ts'

/** Says, in a home of root's, where its data lies. */
export interface HomePointer {
  /** The home's own path when this was written: tells a moved or copied home. */
  readonly home: string
  readonly directory: string
}

export const POINTER_FILE = 'postgres-place.json'

/** Undefined where there is none. Throws `embedded.storage` for one that says nothing. */
export async function readPointer(home: string): Promise<HomePointer | undefined> {
  const text = await readFile(join(home, POINTER_FILE), 'utf8').catch(undefinedIfMissing)
  if (text === undefined) return undefined
  const found = parsePointer(text)
  if (found === undefined) throw damagedPointer(home)
  return found
}

export function damagedPointer(home: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'storage',
    `${join(home, POINTER_FILE)} is damaged: it says where the data of this home lies, below ` +
      '/var/lib/farewatch as a rule; restore it, or remove it to start with an empty database',
  )
}

/** False where there is one: linking makes the whole file appear at once, and for the first alone. */
export async function createPointer(pointer: HomePointer): Promise<boolean> {
  const written = await writeAside(pointer)
  try {
    await link(written, join(pointer.home, POINTER_FILE))
    return true
  } catch (err) {
    if (hasCode(err, 'EEXIST')) return false
    throw err
  } finally {
    await rm(written)
  }
}

export async function replacePointer(pointer: HomePointer): Promise<void> {
  await rename(await writeAside(pointer), join(pointer.home, POINTER_FILE))
}

async function writeAside(pointer: HomePointer): Promise<string> {
  const path = join(pointer.home, `${POINTER_FILE}.${randomUUID()}`)
  await writeFile(path, `${JSON.stringify(pointer, undefined, 2)}\n`)
  return path
}

function parsePointer(text: string): HomePointer | undefined {
  try {
    const { home, directory } = JSON.parse(text)
    return typeof home === 'string' && typeof directory === 'string'
      ? { home, directory }
      : undefined
  } catch {
    return undefined
  }
}
