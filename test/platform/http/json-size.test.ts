import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { type JsonSize, jsonMeter, sizeOfSchema } from '../../../src/platform/http/json-size.ts'

const WATCHES = Type.Object({
  watches: Type.Array(
    Type.Object({ reference: Type.String(), mix: Type.Object({ adults: Type.Integer() }) }),
    { maxItems: 300 },
  ),
})
const ONE = { reference: 'a, [b] {c} "d" \\', mix: { adults: 1 } }
const isLargerThan = (json: Uint8Array, size: JsonSize) => jsonMeter(size)(json)
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))

describe('the size of a body', () => {
  it('is at most that of the largest one that its schema allows', () => {
    const size = sizeOfSchema(WATCHES)

    const many = (count: number) => bytes({ watches: Array.from({ length: count }, () => ONE) })
    expect(size).toEqual({ values: 2 + 300 * 4, depth: 20, names: 100 })
    // Commas and brackets count; a name and its value are one.
    expect(isLargerThan(many(300), size)).toBe(false)
    expect(isLargerThan(many(310), size)).toBe(true)
    expect(isLargerThan(Buffer.from(`${'['.repeat(19)}1${']'.repeat(19)}`), size)).toBe(false)
    expect(isLargerThan(Buffer.from(`${'['.repeat(20)}1${']'.repeat(20)}`), size)).toBe(true)
  })

  it('of a choice is that of its largest', () => {
    const choice = Type.Object({ price: Type.Union([Type.Null(), WATCHES]) })

    expect(sizeOfSchema(choice)).toEqual({ values: 1 + 1202, depth: 20, names: 100 })
  })

  it.each([
    ['brackets', '['.repeat(3_000_000)],
    ['empty objects', `[${'{},'.repeat(1_000_000)}{}]`],
    ['numbers', `[${'1,'.repeat(1_000_000)}1]`],
    ['names of one object', `{"watches":[{${'"n":1,'.repeat(500_000)}"n":1}]}`],
  ])('three megabytes of %s are refused long before their end', (_what, text) => {
    const json = new Proxy(Buffer.from(text), {
      get: (target, name) => {
        if (Number(name) > 5_000) throw new Error('read too far')
        return target[name as unknown as number]
      },
    })

    expect(isLargerThan(json, sizeOfSchema(WATCHES))).toBe(true)
  })

  it('is the same in whatever pieces the body arrives', () => {
    const size: JsonSize = { values: 9, depth: 4, names: 2 }
    const texts = [
      ['{"a":"[[\\\\\\"{{,,","b":[1,2,3,{"c":4,"d":5}]}', false],
      ['{"a":"\\\\","b":1,"c":2}', true],
      ['[["\\"",[1]]]', false],
      ['[["\\\\",[[1]]]]', true],
    ] as const
    for (const [text, larger] of texts) {
      for (let length = 1; length <= text.length; length += 1) {
        const isOver = jsonMeter(size)
        const pieces = text.match(new RegExp(`.{1,${length}}`, 'g')) ?? []
        expect([text, length, pieces.some((piece) => isOver(Buffer.from(piece)))]).toEqual([
          text,
          length,
          larger,
        ])
      }
    }
  })

  it('of a text that never ends a string is not known, and the parser refuses it', () => {
    expect(isLargerThan(Buffer.from('["\\'), { values: 2, depth: 2, names: 2 })).toBe(false)
  })
})
