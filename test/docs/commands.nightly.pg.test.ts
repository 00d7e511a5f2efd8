import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { type RunningCommand, startFarewatch } from '../support/child-process.ts'
import { freePort } from '../support/redis-tier.ts'
import { until } from '../support/until.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** In the order in which a newcomer reads: a page may use what those before it have made. */
const PAGES = [
  ...new Set([
    ...['README.md', 'docs/start.md', 'docs/resellers.md'],
    ...globSync(['docs/*.md', 'docs/reference/*.md', 'clients/*/README.md'], { cwd: ROOT }).sort(),
  ]),
]

/** Commands that do not run here, each with its reason. */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [/^npm start/, 'this test itself starts farewatch'],
  [/^npm (test|run)/, 'it runs tests'],
  [/^(docker|npx node test\/containers)/, 'it needs a container engine'],
  [/^kubectl/, 'it needs a cluster'],
  [/^(deploy\/prepare|install -m|echo [A-Z_]+=)/, 'it prepares a deployment in containers'],
  [/^[A-Z]+_[A-Z_]+=(?!.*python3)/, 'it is a line of an .env, not a command'],
  [/^curl .*Bearer fwk_…/, 'it calls an API in a container'],
  [/^(npm (install|pack)|.*python3 )/, 'the tests of the clients run it'],
]

/** Commands that may fail in the demo, and what they then say. */
const REFUSED: readonly (readonly [RegExp, RegExp])[] = [
  [/farewatch resellers create northwind/, /already/],
  [/curl .*watch-lists -d/, /duplicate_list/],
  [/"format": "email"/, /address_not_allowed/],
  [/Last-Event-ID: 7/, /changes\.beyond_head/],
  [/runs (review|approve|reject) (42|RUN)/, /no finished run/],
  [/farewatch doctor/, /database +PostgreSQL/],
]

/** Commands that run until they are stopped. Some take the ports that are printed: 8090 and 8092. */
const ENDLESS = /--follow|curl -N|farewatch receive|farewatch sandbox -/

interface Printed {
  readonly page: string
  readonly text: string
}

/** The commands of the blocks of a page, in order: a line with those that continue it, or a text until its END. */
function commandsOf(page: string): Printed[] {
  const blocks = readFileSync(path.join(ROOT, page), 'utf8').matchAll(/```sh\n(.*?)\n```/gs)
  const commands: string[] = []
  let open: RegExp | undefined
  for (const line of [...blocks].flatMap(([, block = '']) => block.split('\n'))) {
    if (open === undefined) commands.push(line)
    else commands.push(`${commands.pop()}\n${line}`)
    if (/<<END$/.test(line)) open = /^END$/
    else if (/\\$/.test(line)) open ??= /[^\\]$/
    else if (open?.test(line)) open = undefined
  }
  return commands.map((text) => ({ page, text }))
}

const PRINTED = PAGES.flatMap(commandsOf)
const isElsewhere = ({ text }: Printed) => ELSEWHERE.some(([pattern]) => pattern.test(text))

/** A shell in which the commands of a page are run one after the other. */
class Shell {
  readonly #bash: ChildProcess
  /** The process groups of commands that run until they are stopped, by their first two words. */
  readonly #started = new Map<string, string>()
  #output = ''
  #count = 0

  constructor(cwd: string, env: Record<string, string>) {
    this.#bash = spawn('bash', ['--norc'], { cwd, env })
    this.#bash.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text
    })
    this.#bash.stdin?.write(
      'exec 2>&1\nset -m\ncurl() { command curl -sS --fail-with-body "$@"; }\nexport -f curl\n',
    )
  }

  /** Runs a command. Its exit code, and what it printed. */
  async run(text: string): Promise<{ exit: number; output: string }> {
    const mark = `@@${this.#count++}`
    this.#output = ''
    this.#bash.stdin?.write(`{ ${text}\n} < /dev/null\necho "${mark} $?"\n`)
    const end = new RegExp(`${mark} (\\d+)\n`)
    const found = await until(`the end of ${text}`, () => end.exec(this.#output) ?? undefined)
    return { exit: Number(found[1]), output: this.#output.slice(0, found.index) }
  }

  /**
   * Starts a command that is stopped with the shell, or before the same command is started again. Waits until it has
   * printed something.
   */
  async start(text: string, file: string): Promise<string> {
    const name = text.split(' ').slice(0, 2).join(' ')
    await this.#stop(this.#started.get(name))
    const { output } = await this.run(`( ${text}\n) > ${file} 2>&1 & echo "@$!"`)
    const pid = /@(\d+)/.exec(output)?.[1] ?? ''
    this.#started.set(name, pid)
    const alive = `kill -0 ${pid} 2>/dev/null`
    return until(`the output of ${text}`, async () => {
      const { exit } = await this.run(alive)
      const { output: shown } = await this.run(`cat ${file}`)
      return exit !== 0 || shown !== '' ? shown : undefined
    })
  }

  async #stop(pid: string | undefined): Promise<void> {
    if (pid !== undefined) await this.run(`kill -KILL -- -${pid} 2>/dev/null; wait ${pid}`)
  }

  async close(): Promise<void> {
    for (const pid of this.#started.values()) await this.#stop(pid)
    const ended = once(this.#bash, 'close')
    this.#bash.stdin?.end()
    await ended
  }
}

let folder: string
let up: RunningCommand
let env: Record<string, string>
let flight: string

beforeAll(async () => {
  // Links to what the commands name, and a home of its own.
  folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-docs-'))
  await mkdir(path.join(folder, 'bin'))
  await symlink(path.join(ROOT, 'bin/farewatch'), path.join(folder, 'bin/farewatch'))
  await symlink(path.join(ROOT, 'docs'), path.join(folder, 'docs'))
  env = {
    API_PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
    SMTP_URL: 'smtp://127.0.0.1:9',
    EMAIL_FROM: 'Fares <fares@seller.example>',
  }
  up = startFarewatch(['up'], env, folder)
  const line = (part: RegExp) =>
    until(`a line with ${part}`, () => part.exec(up.stdout()) ?? undefined)
  flight = (await line(/try flight (\d+)/))[1] ?? ''
  await line(/"status":"applied","baseline":true/)
})

afterAll(async () => {
  up.child.kill('SIGTERM')
  await up.ended
  const { directory } = await findPlace(path.join(folder, '.farewatch'))
  await rm(directory, { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
})

/** What a reader fills in for a value that is printed as `NAME=…`. */
function filledIn(name: string): string {
  const values: Readonly<Record<string, string>> = {
    FLIGHT: flight,
    KEY: '$(bin/farewatch resellers create northwind > /dev/null; bin/farewatch keys create --reseller northwind)',
    ENDPOINT: `$(bin/farewatch endpoints list --reseller northwind --json | sed -n 's/^{"id":"\\([^"]*\\)".*receiver.example.*/\\1/p')`,
    DELIVERY: `$(curl -H "Authorization: Bearer $KEY" $API/deliveries?endpoint=$ENDPOINT | sed 's/{"items":\\[{"id":"\\([^"]*\\)".*/\\1/')`,
  }
  const value = values[name]
  if (value === undefined)
    throw new Error(`${name}=… is printed, and this test has no value for it`)
  return value
}

/** A command as this test runs it: at the port of this test, with the reader's values. */
function runnable({ text }: Printed): string {
  return text
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${env.API_PORT}`)
    .replace(/^([A-Z]+)=….*$/, (_all, name: string) => `${name}=${filledIn(name)}`)
    .replace('--reseller NAME', '--reseller demo')
    .replace(/show ID\b/, 'show 1')
    .replace(/--flight ID\b/, `--flight ${flight}`)
}

describe('a printed command', () => {
  it('that does not run here, or fails in the demo, is printed somewhere', () => {
    const patterns = [...ELSEWHERE, ...REFUSED].map(([pattern]) => pattern)
    const stale = patterns.filter((pattern) => !PRINTED.some(({ text }) => pattern.test(text)))
    expect(stale).toEqual([])
  })

  it.for(PAGES.filter((page) => commandsOf(page).some((one) => !isElsewhere(one))))(
    'of %s works as it stands, after those before it',
    { timeout: 600_000 },
    async (page) => {
      const shell = new Shell(folder, {
        ...env,
        PATH: `${folder}/bin:${process.env.PATH}`,
        HOME: folder,
      })
      const done = new Set<string>()
      try {
        for (const printed of commandsOf(page)) {
          if (isElsewhere(printed)) continue
          const text = runnable(printed)
          const words = text.replace(/\s+#.*/, '')
          if (done.has(words)) continue
          done.add(words)
          const answer = REFUSED.find(([pattern]) => pattern.test(text))?.[1]
          if (ENDLESS.test(text)) {
            const shown = await shell.start(text, `out-${done.size}`)
            if (answer === undefined) expect(shown, text).not.toMatch(/^(farewatch|curl|error):/m)
            continue
          }
          const { exit, output } = await shell.run(text)
          const isGood = exit === 0 || answer?.test(output) === true
          expect(isGood, `exit ${exit} of ${text}\n${output}`).toBe(true)
        }
      } finally {
        await shell.close()
      }
    },
  )
})
