import { describe, expect, it } from 'vitest'
import { describeStore } from '../../../src/platform/queue/queue-connection.ts'

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
