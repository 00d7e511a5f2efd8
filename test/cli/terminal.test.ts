import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTerminal } from '../../src/cli/terminal.ts'

function aTerminal(isTTY: boolean) {
  const stdout = new PassThrough()
  const stderr = Object.assign(new PassThrough(), { isTTY })
  const logged: string[] = []
  const terminal = createTerminal({ stdout, stderr, logProgress: (text) => void logged.push(text) })
  return {
    terminal,
    logged,
    errors: () => String(stderr.read() ?? ''),
    out: () => String(stdout.read() ?? ''),
  }
}

describe('progress', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('is one line on a terminal, overwritten each time and removed before the result', () => {
    const { terminal, errors, out, logged } = aTerminal(true)

    terminal.progress('10 rows')
    vi.advanceTimersByTime(200)
    terminal.progress('20 rows')
    terminal.out('done')

    expect(errors()).toBe('\r\u001b[K  … 10 rows\r\u001b[K  … 20 rows\r\u001b[K')
    expect(out()).toBe('done\n')
    expect(logged).toEqual([])
  })

  it('is logged every ten seconds elsewhere, and not at all if the command is quick', () => {
    const { terminal, errors, logged } = aTerminal(false)

    for (let second = 0; second < 25; second += 1) {
      terminal.progress(`${second} rows`)
      vi.advanceTimersByTime(1_000)
    }
    terminal.progress('')

    expect(logged).toEqual(['10 rows', '20 rows'])
    expect(errors()).toBe('')
  })
})
