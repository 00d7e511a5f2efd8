import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished, vi } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }

const ROOT = path.join(import.meta.dirname, '../..')

/** The arguments with which each benchmark ends soon, and a row of its table. */
const SMALL: Readonly<Record<string, readonly [args: string, prints: RegExp]>> = {
  'bench:api': ['400 1 1', /^\| timeline \| \S+ \| \S+ \| query of a timeline/m],
  'bench:cli': ['1', /^\| farewatch status \| \d+ \| \d/m],
  'bench:delivery': ['2 200', /^\| \S+ \| a worker with a backlog \| \d/m],
  'bench:hostile': ['1 1', /^\| documentation \|( \d\S+ \|){5}/m],
  'bench:sql': ['0.01 1', /^\| the diff of with-availability \| +\| \d+\.\d ms/m],
  'bench:scale': ['500 5 1 1,2 100', /^\| PostgreSQL \| 2 \| 100 \| \d/m],
  'bench:schedule': ['300 1', /^\| ours \| 0\.\d/m],
  'bench:streams': ['1 2', /^\| most memory, MB .* \d+ \|$/m],
  'bench:sync': ['2000 1', /^\| 20 % \| \d/m],
  'bench:truth': ['3000 250', /^\| all \| \d/m],
  'bench:verify': ['200 1', /^\| PostgreSQL \| budget 20 \| \d/m],
}

// One of them starts two workers on each of two queues.
vi.setConfig({ testTimeout: 400_000 })

const SCRIPTS: Readonly<Record<string, string>> = packageJson.scripts
const BENCHES = Object.keys(SCRIPTS).filter((name) => name.startsWith('bench:'))

it.each(BENCHES)('%s runs to its end at a small size and prints its table', async (name) => {
  const [args, prints] = SMALL[name] ?? ['', /^there is no small size$/]
  const [command = '', ...given] = (SCRIPTS[name] ?? '').split(' ')
  expect(command).toBe('node')
  const child = spawn(process.execPath, [...given, ...args.split(' ')], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))

  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])

  expect({ code, errors: code === 0 ? '' : errors }).toEqual({ code: 0, errors: '' })
  expect(output).toMatch(prints)
})
