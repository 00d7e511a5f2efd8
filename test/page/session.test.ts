import { expect, it } from 'vitest'
import { API_OPERATIONS } from '../../src/app/api-operations.ts'

it.each(['resellers', 'operators'] as const)(
  'a page with both keys sends the key of %s to their operations',
  async (audience) => {
    const file = new URL('../../src/page/session.js', import.meta.url).href
    const { OF_RESELLER } = (await import(file)) as { OF_RESELLER: RegExp }
    const paths = API_OPERATIONS.filter((operation) => operation.audience === audience).map(
      ({ path }) => path.replace('/api/v1', ''),
    )

    const wrong = paths.filter((path) => OF_RESELLER.test(path) !== (audience === 'resellers'))

    expect(paths).not.toEqual([])
    expect(wrong).toEqual([])
  },
)
