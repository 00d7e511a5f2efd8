import { describe, expect, it } from 'vitest'
import { readAll } from '../upstream/routes-fixture.ts'
import { LIST_CASES } from './list-answers.ts'

/** What the error of some answers says. It becomes the reason of the run. */
const SAYS: Readonly<Record<string, string>> = {
  'no body': 'the body is empty',
  null: 'begins with null',
  'a byte order mark': 'begins with a byte order mark',
  'a list and HTML': 'the list is followed by other content at byte',
  'a list without its end': 'the list ends early, in element 1',
  'forty levels': 'element 0 is nested deeper than 32 levels',
  'a place with seventeen spellings': 'element 16 gives a place its spelling number 17',
  'a route of 70 KB': 'element 1 is over 65536 bytes',
}

// Fault: Contradictory lists: decided the same way every time, and counted; a list with over 16 spellings of a place, or over
// 100,000 places, is rejected.
// Fault: Contract violations: rejected, or unknown; never an unavailable fare.
describe('a list of an upstream that was written from the interface alone', () => {
  it('has at least 90 kinds, each under its own name', () => {
    const names = new Set(LIST_CASES.map(({ name }) => name))
    expect(names.size).toBe(LIST_CASES.length)
    expect(LIST_CASES.length).toBeGreaterThanOrEqual(90)
    expect(Object.keys(SAYS).filter((name) => !names.has(name))).toEqual([])
  })

  // Fault: The upstream answers a list in any of over 150 ways. Each becomes what docs/reference/upstream.md says: read, or
  // rejected or not received for a named reason.
  it.each(LIST_CASES)('becomes $becomes when it is $name', async ({ name, answer, becomes }) => {
    const reading = readAll([Buffer.from(answer.body ?? '')])

    if (typeof becomes === 'number') expect((await reading).routes).toHaveLength(becomes)
    else {
      await expect(reading).rejects.toMatchObject({
        code: `upstream.${becomes}`,
        retryable: false,
        message: expect.stringContaining(SAYS[name] ?? ': '),
      })
    }
  })
})
