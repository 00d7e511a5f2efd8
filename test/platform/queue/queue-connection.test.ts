import { describe, expect, it } from 'vitest'
import { describeStore } from '../../../src/platform/queue/queue-connection.ts'
import {
  QueueUnavailableError,
  toUnavailableError,
} from '../../../src/platform/queue/queue-errors.ts'

const same = (text: string) => text

describe('describeStore', () => {
  it.each([
    [
      'postgres',
      'postgres://u:secret@db.internal:5433/fares?sslmode=require',
      'db.internal:5433/fares',
    ],
    ['postgres', 'postgresql://u:secret@db.internal/fares', 'db.internal:5432/fares'],
    ['postgres', 'postgres:///fares?host=/run/pg', '/run/pg:5432/fares'],
    ['redis', 'redis://:secret@[::1]', '[::1]:6379'],
    ['rediss', 'rediss://u:secret@cache:7000/2', 'cache:7000/2'],
    ['redis', 'secret and no URL', ' at an invalid URL'],
  ])('names a %s store without its credentials', (scheme, url, shown) => {
    const kind = scheme.startsWith('redis') ? 'redis' : 'postgres'

    const text = describeStore({ kind, url })

    expect(text).toContain(shown)
    expect(text).not.toContain('secret')
  })
})

describe('toUnavailableError', () => {
  const connection = { kind: 'redis', url: 'redis://:pw@cache' } as const

  it('reports the code of an error without a message, as for a host with two addresses', () => {
    const thrown = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })

    const err = toUnavailableError(connection, thrown, same)

    expect(err).toBeInstanceOf(QueueUnavailableError)
    expect(err.message).toBe(
      "the queue's store (redis cache:6379) cannot be used: ECONNREFUSED; " +
        'check that Redis runs and that REDIS_URL names it',
    )
  })

  it('keeps only clean text of the original error', () => {
    const thrown = Object.assign(new Error('WRONGPASS \0 pw-of-redis'), {
      command: { name: 'auth', args: ['pw-of-redis'] },
    })

    const err = toUnavailableError(connection, thrown, (text) =>
      text.replaceAll('pw-of-redis', '***'),
    )

    const cause = err.cause as Error
    expect(`${err.message} ${err.stack} ${cause.message} ${cause.stack}`).not.toMatch(
      /pw-of-redis|\0/,
    )
    expect(Object.keys(cause)).toEqual([])
  })
})
