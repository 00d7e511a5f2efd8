import { expect, it } from 'vitest'

interface Use {
  readonly name: string
  readonly total: number
  readonly share: number
}

it('shows those with the most calls first, and leaves out those without a call', async () => {
  const file = new URL('../../src/page/calls.js', import.meta.url).href
  const { usesOf } = (await import(file)) as {
    usesOf(series: readonly { name: string; calls: number[] }[]): Use[]
  }

  const uses = usesOf([
    { name: 'northwind', calls: [1, 0] },
    { name: 'zephyr', calls: [0, 0] },
    { name: 'demo', calls: [1, 2] },
  ])

  expect(uses).toMatchObject([
    { name: 'demo', total: 3, share: 0.75 },
    { name: 'northwind', total: 1, share: 0.25 },
  ])
  expect(uses).toHaveLength(2)
})
