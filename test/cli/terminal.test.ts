import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTerminal } from '../../src/cli/terminal.ts'
import { runCommand } from '../support/run-command.ts'

function aTerminal(isTTY: boolean) {
  const stdout = Object.assign(new PassThrough(), { isTTY })
  const stderr = Object.assign(new PassThrough(), { isTTY })
  const logged: string[] = []
  const streams = { stdout, stderr, logProgress: (text: string) => void logged.push(text) }
  const terminal = createTerminal(streams)
  return {
    terminal,
    asJson: createTerminal(streams, { output: 'json' }),
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
})

const HOSTILE = 'a\u001b[2Jb\u009b31mc\u0007\u202ed\re'
const ESCAPED = 'a\\u001b[2Jb\\u009b31mc\\u0007\\u202ed\\u000de'

describe('a text that quotes the upstream, a file or the database', () => {
  // Fault: Escape sequences in an error message, a query result or an export.
  it('cannot act on a terminal, while line ends and the colours of commands are kept', () => {
    const { terminal, asJson, errors, out } = aTerminal(true)

    terminal.out(`\u001b[31mwrong\u001b[0m\tone\n${HOSTILE}`)
    asJson.print({ city: HOSTILE }, () => '')
    terminal.step(HOSTILE)

    const [first, second, json = ''] = out().split('\n')
    expect([first, second]).toEqual(['\u001b[31mwrong\u001b[0m\tone', ESCAPED])
    expect(JSON.parse(json)).toEqual({ city: HOSTILE })
    expect(json).not.toMatch(/[\p{Cc}\u202e]/u)
    expect(errors()).toBe(`  \u001b[32m✓\u001b[0m ${ESCAPED}\n`)
  })

  it('reaches a file or a pipe unchanged', () => {
    const { terminal, out } = aTerminal(false)

    terminal.out(HOSTILE)

    expect(out()).toBe(`${HOSTILE}\n`)
  })

  it.each([
    ['of a command', ['watch-lists', 'diff', `${HOSTILE}.csv`, '--reseller', 'x']],
    ['about an option', ['status', `--${HOSTILE}`]],
  ])('is escaped in an error message %s, on a terminal or not', async (_what, command) => {
    const { stderr } = await runCommand(command, {})

    expect(stderr).toContain(ESCAPED)
    expect(stderr).not.toContain(HOSTILE)
  })
})
