import { describe, expect, it } from 'vitest'
import { createRequestLog, type LoggedRequest } from '../../sandbox/operations/request-log.ts'

function request(realMs: number): Omit<LoggedRequest, 'seq'> {
  return {
    realMs,
    worldTime: new Date(realMs).toISOString(),
    endpoint: 'routes',
    question: null,
    outcome: { status: 200 },
    fault: null,
  }
}

function logOf(count: number, capacity = 5) {
  const log = createRequestLog(capacity)
  for (let i = 1; i <= count; i++) log.record(request(i))
  return log
}

const seqs = (entries: readonly LoggedRequest[]) => entries.map((entry) => entry.seq)

describe('the request log', () => {
  it('numbers requests densely from 1 and returns those after a number', () => {
    const { entries, next, oldest } = logOf(4).after(2, 10)

    expect(entries).toEqual([
      { seq: 3, ...request(3) },
      { seq: 4, ...request(4) },
    ])
    expect([next, oldest]).toEqual([4, 1])
  })

  it('returns pages without gaps and duplicates', () => {
    const log = logOf(5)

    const first = log.after(0, 2)
    const second = log.after(first.next, 2)
    const third = log.after(second.next, 2)

    expect([first, second, third].flatMap((page) => seqs(page.entries))).toEqual([1, 2, 3, 4, 5])
    expect(log.after(third.next, 2)).toMatchObject({ entries: [], next: 5 })
  })

  it('drops the oldest requests beyond its capacity and reports the oldest kept one', () => {
    const log = logOf(12)

    expect(seqs(log.after(0, 100).entries)).toEqual([8, 9, 10, 11, 12])
    expect(log.after(0, 100).oldest).toBe(8)
    expect(log.count()).toBe(12)
  })

  it('returns the requests of a time range in order, also after its ring buffer has wrapped', () => {
    expect(seqs(logOf(12).between(9, 11))).toEqual([9, 10])
  })
})
