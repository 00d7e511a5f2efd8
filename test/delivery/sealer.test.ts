import { expect, it } from 'vitest'
import { createSealer, SealError } from '../../src/delivery/endpoints/sealer.ts'

const FIRST = createSealer('the first key of this test')
const SECRET = 'whsec_c2VjcmV0'

it('a sealed value opens in its place, and the same text is sealed differently each time', () => {
  const sealed = FIRST.seal(SECRET, 'one')

  expect(FIRST.open(sealed, 'one')).toBe(SECRET)
  expect(sealed.includes(SECRET)).toBe(false)
  expect(FIRST.seal(SECRET, 'one').equals(sealed)).toBe(false)
})

it('a sealed value does not open in another row, after a change, or with another key', () => {
  const sealed = FIRST.seal(SECRET, 'one')
  const other = createSealer('another key of this test')
  const changed = Buffer.from(sealed)
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1

  expect(() => FIRST.open(sealed, 'two')).toThrow(SealError)
  expect(() => FIRST.open(changed, 'one')).toThrow(SealError)
  expect(() => FIRST.open(sealed.subarray(0, 20), 'one')).toThrow(SealError)
  expect(() => other.open(sealed, 'one')).toThrow(SealError)
})
