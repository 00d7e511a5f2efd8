import { describe, expect, it } from 'vitest'
import { AppError } from '../../src/platform/base/errors.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { startHostileUpstream } from './hostile-upstream.ts'
import { LIST_CASES, type ListBecomes, MAX_BODY_BYTES } from './list-answers.ts'

/** Short enough for silence, and long enough for every other answer on a busy machine. */
const SILENCE_MS = 500
const BUSY_MS = 30_000

async function readingOf(list: Promise<readonly unknown[]>): Promise<ListBecomes> {
  try {
    return (await list).length
  } catch (err) {
    if (!(err instanceof AppError)) throw err
    return err.code.replace('upstream.', '') as ListBecomes
  }
}

describe('a list of an upstream that was written from the interface alone', () => {
  it('has at least 120 kinds, each under its own name', () => {
    expect(new Set(LIST_CASES.map(({ name }) => name)).size).toBe(LIST_CASES.length)
    expect(LIST_CASES.length).toBeGreaterThanOrEqual(120)
  })

  it.each(LIST_CASES)('becomes $becomes when it is $name', async ({ answer, becomes }) => {
    await using upstream = await startHostileUpstream(answer)
    const listDeadlineMs = becomes === 'timeout' ? SILENCE_MS : BUSY_MS
    const limits = { listDeadlineMs, maxBodyBytes: MAX_BODY_BYTES }
    await using fixture = clientOf(upstream.url, { limits })

    expect(await readingOf(fixture.pull())).toBe(becomes)
  })
})
