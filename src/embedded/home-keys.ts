import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { AppError } from '../platform/base/errors.ts'
import type { Db } from '../platform/db/database.ts'
import { inTransaction } from '../platform/db/transaction.ts'
import { createApiKey, hadKey } from '../resellers/api-keys.ts'
import { undefinedIfMissing } from './postgres-errors.ts'

/** Whose key a file of the home holds. */
type HomeKey = 'operator' | 'demo'

/** The file holds a header of HTTP, so that `curl -H @FILE` sends it. */
export function homeKeyFile(home: string, name: HomeKey): string {
  return path.join(home, 'keys', name)
}

/**
 * Makes a key and writes it to its file in the home, unless its owner ever had one: a revoked key is not made again.
 * @returns whether it was made.
 */
export async function ensureHomeKey(
  db: Db,
  home: string,
  { name, resellerId }: { readonly name: HomeKey; readonly resellerId: number | null },
): Promise<boolean> {
  return inTransaction(db, async (tx) => {
    if (await hadKey(tx, resellerId)) return false
    const { text } = await createApiKey(tx, { resellerId })
    // Before the commit: a key that exists without its file could not be made again.
    await writeHeader(homeKeyFile(home, name), text)
    return true
  })
}

async function writeHeader(file: string, key: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  const partial = `${file}.${process.pid}`
  await writeFile(partial, `Authorization: Bearer ${key}\n`, { mode: 0o600 })
  await rename(partial, file)
}

/** Reads the key of a file that `ensureHomeKey` wrote, or that holds a key alone. Throws NoKeyFileError. */
export async function readKeyFile(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(undefinedIfMissing)
  const key = text?.trim().replace(/^authorization: *bearer +/i, '')
  if (key === undefined || !/^\S+$/.test(key)) throw new NoKeyFileError(file)
  return key
}

class NoKeyFileError extends AppError {
  override readonly name = 'NoKeyFileError'
  override readonly code = 'embedded.no_key_file'
  override readonly retryable = false

  constructor(file: string) {
    super(
      `${file} holds no key: "npm start" makes one at its first start, and "bin/farewatch keys create" another`,
    )
  }
}
