import { expect, it } from 'vitest'
import { createBatchLoader } from '../../src/resellers/batch-loader.ts'

const EVERY_MS = 50

/** Answers with the key itself, but for `none`. */
function someQuestions() {
  const asked: { keys: readonly string[]; atMs: number }[] = []
  const questions = createBatchLoader<string>({
    intervalMs: EVERY_MS,
    load: async (keys) => {
      asked.push({ keys, atMs: performance.now() })
      if (keys.includes('broken')) throw new Error('away')
      return new Map(keys.filter((key) => key !== 'none').map((key) => [key, key]))
    },
  })
  return { questions, asked }
}

it('asks at once, and once for all that come until it may ask again', async () => {
  const { questions, asked } = someQuestions()

  expect(await questions.find('a')).toBe('a')
  const many = Array.from({ length: 1_000 }, (_, i) => `${i}`)
  const found = await Promise.all([...many, 'none', '7'].map((key) => questions.find(key)))

  expect(found).toEqual([...many, undefined, '7'])
  expect(asked.map(({ keys }) => keys)).toEqual([['a'], [...many, 'none']])
  const [first, second] = asked
  expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThan(EVERY_MS - 2)
})

it('asks on after a question that failed', async () => {
  const { questions } = someQuestions()

  const both = await Promise.allSettled([questions.find('broken'), questions.find('a')])

  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await questions.find('a')).toBe('a')
})
