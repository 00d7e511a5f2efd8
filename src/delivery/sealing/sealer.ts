import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  scryptSync,
} from 'node:crypto'
import { AppError } from '../../platform/base/errors.ts'

/** A sealed value belongs to another key, another place, or was changed. */
export class SealError extends AppError {
  override readonly name = 'SealError'
  override readonly code = 'delivery.sealed_with_another_key'
  override readonly retryable = false
}

/** An endpoint needs ENCRYPTION_KEY, and the operator has not set it. */
export class NoEncryptionKeyError extends AppError {
  override readonly name = 'NoEncryptionKeyError'
  override readonly code = 'delivery.no_encryption_key'
  override readonly retryable = false

  constructor() {
    super('secrets cannot be stored: the operator of this farewatch must set ENCRYPTION_KEY')
  }
}

/** Encrypts the secrets of endpoints with AES-256-GCM. */
export interface Sealer {
  /**
   * Encrypts with the present key. Throws NoEncryptionKeyError.
   * @param place the row and the column. A value that is copied to another place cannot be opened there.
   */
  seal(text: string, place: string): Buffer
  /** Decrypts with the present or the previous key. Throws SealError. */
  open(sealed: Buffer, place: string): string
  /** The ids of the keys that can open values, the present one first. */
  keyIds(): Buffer[]
}

interface DerivedKey {
  readonly id: Buffer
  /** Node.js 24 takes four times as long to decrypt with a Buffer. */
  readonly key: KeyObject
}

/** A sealed value begins with the id of its key, so a wrong key is recognized without a trial. */
export const KEY_ID_BYTES = 8
const IV_BYTES = 12
const TAG_BYTES = 16
const SALT = 'farewatch endpoints 1'

/**
 * Creates a sealer. Keys are derived at the first use, because that takes 50 ms.
 * @param previous opens what was sealed before `key` replaced it.
 */
export function createSealer(key: string | undefined, previous?: string): Sealer {
  let derived: DerivedKey[] | undefined
  const keys = () => {
    derived ??= [key, previous].filter((text) => text !== undefined).map(derive)
    return derived
  }
  return {
    seal(text, place) {
      const [present] = keys()
      if (key === undefined || present === undefined) throw new NoEncryptionKeyError()
      return encrypt(present, text, place)
    },
    open(sealed, place) {
      const id = sealed.subarray(0, KEY_ID_BYTES)
      const found = keys().find((known) => known.id.equals(id))
      if (found === undefined) throw new SealError('sealed with a key that is not set')
      return decrypt(found, sealed, place)
    },
    keyIds: () => keys().map(({ id }) => id),
  }
}

/** scrypt makes guesses expensive, in case the operator has chosen words instead of random text. */
function derive(text: string): DerivedKey {
  const key = createSecretKey(scryptSync(text, SALT, 32))
  return { key, id: createHmac('sha256', key).update('id').digest().subarray(0, KEY_ID_BYTES) }
}

function encrypt({ id, key }: DerivedKey, text: string, place: string): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(place))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([id, iv, cipher.getAuthTag(), body])
}

function decrypt({ key }: DerivedKey, sealed: Buffer, place: string): string {
  const iv = sealed.subarray(KEY_ID_BYTES, KEY_ID_BYTES + IV_BYTES)
  const bodyStart = KEY_ID_BYTES + IV_BYTES + TAG_BYTES
  const tag = sealed.subarray(KEY_ID_BYTES + IV_BYTES, bodyStart)
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
    decipher.setAAD(Buffer.from(place)).setAuthTag(tag)
    return decipher.update(sealed.subarray(bodyStart), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    // The error of node:crypto says nothing more.
    throw new SealError('a sealed value was changed or moved to another row')
  }
}
