import { describe, expect, it } from 'vitest'
import { draw, drawExponential, drawNormal, mix, mixText } from '../../sandbox/world/random.ts'

const KEYS = Array.from({ length: 20_000 }, (_, key) => key)
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

describe('a random draw', () => {
  it('is the same for the same keys, whatever was drawn before', () => {
    const first = draw(mix(1, 2), 3)

    draw(mix(9, 9), 9)

    expect(draw(mix(1, 2), 3)).toBe(first)
  })

  it('never changes, so that the worlds of released seeds stay the same', () => {
    expect([mix(0, 0), mix(1, 2), mix(2, 1), mixText(7, 'PMI')]).toMatchInlineSnapshot(`
      [
        340428713,
        -116696874,
        1499487130,
        1672158495,
      ]
    `)
  })

  it('is uniform in [0, 1) for neighbouring keys and neighbouring words', () => {
    for (const values of [KEYS.map((key) => draw(5, key)), KEYS.map((word) => draw(word, 5))]) {
      const tenths = Array.from({ length: 10 }, (_, tenth) =>
        values.filter((value) => Math.floor(value * 10) === tenth),
      )

      for (const tenth of tenths) {
        expect(tenth.length).toBeGreaterThan(1800)
        expect(tenth.length).toBeLessThan(2200)
      }
    }
  })

  it('has the mean and the spread of its normal or exponential distribution', () => {
    const normals = KEYS.map((key) => drawNormal(1, key))
    const exponentials = KEYS.map((key) => drawExponential(1, key))

    expect(mean(normals)).toBeCloseTo(0, 1)
    expect(mean(normals.map((x) => x * x))).toBeCloseTo(1, 1)
    expect(mean(exponentials)).toBeCloseTo(1, 1)
  })

  it('differs for texts that differ in order or length', () => {
    const words = ['', 'ab', 'ba', 'a', 'aa'].map((text) => mixText(1, text))

    expect(new Set(words).size).toBe(words.length)
  })
})
