import { randomBytes, randomUUID } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { EmbeddedPostgresError, hasCode, undefinedIfMissing } from './postgres-errors.ts'

const KEY_BYTES = 24

interface EncryptionKeys {
  readonly ENCRYPTION_KEY: string | undefined
  readonly ENCRYPTION_KEY_PREVIOUS: string | undefined
}

/**
 * The keys for the secrets in an embedded database. Without a key of the user's, the home has one in a file: a user who can
 * read the home can read the database too. A key that the user sets later replaces it, and the one of the file still opens
 * what it has sealed.
 */
export async function keysOfHome<Keys extends EncryptionKeys>(
  home: string,
  given: Keys,
): Promise<Keys> {
  const file = path.join(home, 'encryption-key')
  const { ENCRYPTION_KEY: key, ENCRYPTION_KEY_PREVIOUS: previous } = given
  if (key === undefined) return { ...given, ENCRYPTION_KEY: await readOrCreate(file) }
  return { ...given, ENCRYPTION_KEY_PREVIOUS: previous ?? (await read(file)) }
}

async function readOrCreate(file: string): Promise<string> {
  const found = await read(file)
  if (found !== undefined) return found
  await mkdir(path.dirname(file), { recursive: true })
  const partial = `${file}.${randomUUID()}`
  await writeFile(partial, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { mode: 0o600 })
  try {
    // A link makes the complete file appear at once, and succeeds for one process only.
    await link(partial, file)
  } catch (err) {
    if (!hasCode(err, 'EEXIST')) throw err
  } finally {
    await rm(partial)
  }
  return readOrCreate(file)
}

async function read(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(undefinedIfMissing)
  const key = text?.trim()
  if (key === undefined || key.length === 2 * KEY_BYTES) return key
  throw new EmbeddedPostgresError(
    'storage',
    `${file} is damaged: restore it, or remove it and create the endpoints of resellers again`,
  )
}
