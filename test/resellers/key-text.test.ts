import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hashOf, isWellFormedKey, newKey, prefixOf } from '../../src/resellers/api-keys.ts'

const FIRST = newKey(() => 0)

describe('a key', () => {
  it('a key consists of fwk_, thirty random letters and digits, and a checksum', () => {
    expect(newKey(randomInt)).toMatch(/^fwk_[0-9A-Za-z]{36}$/)
    expect(FIRST).toMatch(/^fwk_0{30}[0-9A-Za-z]{6}$/)
    expect(newKey(randomInt)).not.toBe(newKey(randomInt))
  })

  it('one wrong character or two swapped ones make a key malformed', () => {
    const key = newKey(randomInt)
    for (let i = 0; i < key.length; i += 1) {
      const wrong = key[i] === 'x' ? 'y' : 'x'
      expect(isWellFormedKey(key.slice(0, i) + wrong + key.slice(i + 1))).toBe(false)
      const swapped = `${key.slice(0, i)}${key[i + 1] ?? ''}${key[i]}${key.slice(i + 2)}`
      expect(isWellFormedKey(swapped)).toBe(swapped === key)
    }
  })

  it.each([
    '',
    'fwk_',
    `${FIRST} `,
    ` ${FIRST}`,
    FIRST.toUpperCase(),
    `${FIRST}0`,
    FIRST.slice(0, -1),
  ])('the text %j is not a key', (text) => {
    expect(isWellFormedKey(text)).toBe(false)
  })

  it('the prefix and the hash do not reveal the key', () => {
    expect(prefixOf(FIRST)).toBe('fwk_00000000')
    expect(hashOf(FIRST)).toHaveLength(32)
  })
})
