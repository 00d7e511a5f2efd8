import { mkdir, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Db } from '../platform/db/database.ts'
import { inTransaction } from '../platform/db/transaction.ts'
import { createApiKey, hadKey } from '../resellers/api-keys.ts'
import { type HomeKey, homeKeyFile } from './running-services.ts'

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
