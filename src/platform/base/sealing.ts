import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts with AES-256-GCM.
 * @param place the sealed bytes can be opened with the same place alone.
 */
export function seal(key: KeyObject | Buffer, bytes: string | Buffer, place = ''): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(place))
  const body = Buffer.concat([cipher.update(bytes), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), body])
}

/** Throws if the bytes were changed, or sealed with another key or place. */
export function unseal(key: KeyObject | Buffer, sealed: Buffer, place = ''): Buffer {
  const bodyStart = IV_BYTES + TAG_BYTES
  const iv = sealed.subarray(0, IV_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(place)).setAuthTag(sealed.subarray(IV_BYTES, bodyStart))
  return Buffer.concat([decipher.update(sealed.subarray(bodyStart)), decipher.final()])
}
