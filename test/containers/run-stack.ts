// Builds the image and runs the demonstration of docker-compose.yml for real, where there is a container engine:
//   npx node test/containers/run-stack.ts
// Says so and ends well where there is none; REQUIRE_CONTAINERS=1 makes that a failure.
import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { freePort } from '../support/redis-tier.ts'
import { until } from '../support/until.ts'
import { createStack, findCompose, run, type Stack } from './compose.ts'

const PROJECT = 'farewatch-stack'
const MINUTES_MS = 60_000

interface Feed {
  readonly items: readonly { readonly seq: number; readonly kind: string }[]
}

const say = (text: string) => process.stdout.write(`${text}\n`)

async function runStack(stack: Stack): Promise<void> {
  const port = await freePort()
  run(stack.folder, path.join(stack.folder, 'deploy/prepare'), ['demo'])
  appendFileSync(path.join(stack.folder, '.env'), `API_PORT=${port}\nFAREWATCH_WORKERS=2\n`)
  stack.compose('build')
  say('the image is built')
  stack.compose('up', '--detach')
  await untilHealthy(stack)
  say('all containers are healthy, with two workers')

  const key = stack.compose('run', '--rm', '-T', 'api', 'keys', 'create', '--reseller', 'demo')
  const read = (after: number) => readChanges(`http://127.0.0.1:${port}`, key.trim(), after)
  const first = await untilChange(read, 0)
  say(`a change came through the published port: ${first.kind}, ${first.seq}`)

  await killAWorker(stack, read)

  const kept = await read(0)
  stack.compose('down')
  stack.compose('up', '--detach')
  await untilHealthy(stack)
  const again = await until('the API after "down" and "up"', () => read(0), MINUTES_MS)
  if (JSON.stringify(again.items.slice(0, kept.items.length)) !== JSON.stringify(kept.items)) {
    throw new Error('the feed is another one after "down" and "up"')
  }
  say(`${kept.items.length} records are the same after "down" and "up", read with the same key`)
}

/** Compose waits for the stores and the migration; the services are healthy once they are ready. */
async function untilHealthy(stack: Stack): Promise<void> {
  await until('healthy containers', () => states(stack).every(isWell), 3 * MINUTES_MS)
  const workers = states(stack, 'worker').length
  if (workers !== 2) throw new Error(`${workers} workers instead of two`)
}

/** Of the containers of a service, or of all: their state, and their health or exit code. */
function states(stack: Stack, ...service: readonly string[]): string[] {
  const ids = stack
    .compose('ps', '--all', '--quiet', ...service)
    .split('\n')
    .filter(Boolean)
  const format =
    '{{.State.Status}} {{if .State.Running}}{{with .State.Health}}{{.Status}}{{end}}{{else}}{{.State.ExitCode}}{{end}}'
  return ids.map((id) => stack.docker('inspect', '--format', format, id).trim())
}

/** Running and healthy, or a one-off that has done its work. */
function isWell(state: string): boolean {
  return state === 'running healthy' || state === 'exited 0'
}

type ReadFeed = (after: number) => Promise<Feed>

async function readChanges(base: string, key: string, after: number): Promise<Feed> {
  const address = `${base}/api/v1/watch-changes?after=${after}&wait=20`
  const response = await fetch(address, { headers: { authorization: `Bearer ${key}` } })
  if (!response.ok) throw new Error(`the API answers ${response.status}: ${await response.text()}`)
  return (await response.json()) as Feed
}

function untilChange(read: ReadFeed, after: number): Promise<Feed['items'][number]> {
  return until('a change', async () => (await read(after)).items.at(-1), 5 * MINUTES_MS)
}

/** The other worker goes on alone, and "up" brings one in the place of the dead. */
async function killAWorker(stack: Stack, read: ReadFeed): Promise<void> {
  const [worker = ''] = stack.compose('ps', '--quiet', 'worker').split('\n')
  const { seq } = await untilChange(read, 0)
  stack.docker('kill', worker)
  const next = await untilChange(read, seq)
  say(`a worker was killed, the other goes on: ${next.kind}, ${next.seq}`)
  stack.compose('up', '--detach')
  await untilHealthy(stack)
  say('"up" has replaced it')
}

const call = findCompose()
if (call === undefined) {
  say('there is no container engine, or no compose: nothing was run')
  if (process.env.REQUIRE_CONTAINERS !== undefined) process.exitCode = 1
} else {
  const stack = createStack(call, PROJECT)
  try {
    await runStack(stack)
  } finally {
    stack.remove()
  }
}
