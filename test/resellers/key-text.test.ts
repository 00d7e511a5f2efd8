import { randomInt } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hashOf, isWellFormedKey, newKey, prefixOf } from '../../src/resellers/key-text.ts'

const FIRST = newKey(() => 0)

describe('a key', () => {
  it('is its start, thirty random letters and digits, and their checksum', () => {
    expect(newKey(randomInt)).toMatch(/^fwk_[0-9A-Za-z]{36}$/)
    expect(FIRST).toMatch(/^fwk_0{30}[0-9A-Za-z]{6}$/)
    expect(newKey(randomInt)).not.toBe(newKey(randomInt))
  })

  it('is known as one without asking anybody', () => {
    for (let i = 0; i < 100; i += 1) expect(isWellFormedKey(newKey(randomInt))).toBe(true)
  })

  it('is told from any that has one character wrong, or two in the wrong order', () => {
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
  ])('is not %j', (text) => {
    expect(isWellFormedKey(text)).toBe(false)
  })

  it('shows in lists what nobody can go on from', () => {
    expect(prefixOf(FIRST)).toBe('fwk_00000000')
    expect(hashOf(FIRST)).toHaveLength(32)
  })
})
