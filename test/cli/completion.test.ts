import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { wordsAfter } from '../../src/cli/commands/completion.ts'
import { createProgram } from '../../src/cli/program.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const program = await createProgram()

describe('completion', () => {
  it('has the commands, the choices of an argument or an option, and the options', () => {
    expect(wordsAfter(program, ['deliveries'])).toEqual(
      expect.arrayContaining(['list', 'show', 'retry', 'replay', '--json']),
    )
    expect(wordsAfter(program, ['pause'])).toEqual(
      expect.arrayContaining(['checks', 'syncs', 'deliveries', '--reason']),
    )
    expect(wordsAfter(program, ['deliveries', 'list', '--state'])).toEqual([
      'pending',
      'delivered',
      'dead',
    ])
    expect(wordsAfter(program, ['resellers', 'list', '-o'])).toEqual(['table', 'json', 'csv'])
  })

  it('of bash completes the word before the cursor', () => {
    const script = `source <(bin/farewatch completion bash)
      COMP_WORDS=(bin/farewatch watch-lists ex); COMP_CWORD=2; _farewatch; echo "\${COMPREPLY[@]}"`

    const completed = execFileSync('bash', ['-c', script], { cwd: ROOT, encoding: 'utf8' })

    expect(completed).toBe('export\n')
  })
})
