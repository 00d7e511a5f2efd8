import { describe, expect, it } from 'vitest'
import { floorOf, needsOf } from '../../../src/history/archive/plan-archive.ts'
import { writeFlushed } from '../../../src/history/durable-files.ts'

describe('the floor of a feed', () => {
  it.each([
    ['the first record since the date', { first: 1, last: 9, firstSince: 5 }, [], 5],
    ['the last record, if all are older', { first: 1, last: 9, firstSince: null }, [], 9],
    ['the first record that is needed', { first: 1, last: 9, firstSince: 5 }, [3, 7], 3],
    [
      'the present floor, if more was archived before',
      { first: 4, last: 9, firstSince: 2 },
      [1],
      4,
    ],
    ['its start, while it has no record', { first: 1, last: 0, firstSince: null }, [], 1],
  ])('is %s', (_, facts, needed, floor) => {
    expect(floorOf(facts, needed)).toBe(floor)
  })

  it('an endpoint needs what it has not read, and what is or may be sent again', () => {
    const endpoints = [
      { id: 'read', cursor: 9, firstDelivery: null },
      { id: 'behind', cursor: 2, firstDelivery: null },
      { id: 'sending', cursor: 9, firstDelivery: 4 },
      { id: 'new', cursor: 8, firstDelivery: 8 },
    ]
    const ana = { id: 1, name: 'ana', first: 1, last: 9, firstSince: 7, endpoints }

    expect(needsOf(ana)).toEqual([
      { reseller: 'ana', endpointId: 'behind', seq: 3, why: 'cursor' },
      { reseller: 'ana', endpointId: 'sending', seq: 4, why: 'delivery' },
    ])
  })
})

describe('a file of an archive', () => {
  it('fails when the disk is full, also while its writer waits', async () => {
    const full = writeFlushed('/dev/full', async (out) => {
      out.write('x'.repeat(100_000))
      await new Promise(() => undefined)
    })

    await expect(full).rejects.toThrow(/ENOSPC/)
  })
})
