import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterEach, expect, it } from 'vitest'
import { until } from '../../support/until.ts'
import type { WorkerProcessOrder } from './fixtures/worker-process.ts'
import { aQueue, createSystems, FAST_WORK, untilCounts } from './queue-fixtures.ts'
import { describeStores } from './queue-stores.ts'

const PROGRAM = new URL('./fixtures/worker-process.ts', import.meta.url).pathname

interface WorkerProcess {
  readonly child: ChildProcess
  readonly exited: Promise<unknown>
  readonly lines: readonly string[]
}

function startWorkerProcess(order: WorkerProcessOrder): WorkerProcess {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  return { child, exited: once(child, 'exit'), lines }
}

describeStores('crashes of a worker', (store) => {
  const systems = createSystems(store)
  const started: WorkerProcess[] = []
  const start = (queue: string) => {
    const process = startWorkerProcess({ connection: store().connection, queue })
    started.push(process)
    return process
  }

  afterEach(async () => {
    for (const { child, exited } of started.splice(0)) {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGKILL')
        await exited
      }
    }
    await systems.closeAll()
  })

  it('during a job release the job to another worker', async () => {
    const system = systems.open()
    const queue = aQueue()
    const first = start(queue)
    await system.enqueue(queue, { payload: { does: 'hang' } })
    await until('word of the process', () =>
      first.lines.some((line) => line.startsWith('began hang')),
    )

    first.child.kill('SIGKILL')
    await first.exited
    const taken = Promise.withResolvers<number>()
    await system.work(queue, async (_payload, { attempt }) => taken.resolve(attempt), FAST_WORK)

    expect(await taken.promise).toBe(1)
    await untilCounts(system, queue, { completed: 1 })
  })

  // Fault: A job ends its process each time it runs.
  it('caused by a job stop after a few starts: the job is dead, others run, and it can be retried', async () => {
    const system = systems.open()
    const queue = aQueue()
    await system.enqueue(queue, { payload: { does: 'exit' }, attempts: 50 })
    let crashes = 0

    let current = start(queue)
    await until('the job is given up', async () => {
      if (current.child.exitCode !== null) {
        crashes += 1
        current = start(queue)
      }
      return (await system.counts(queue)).failed === 1
    })

    await system.enqueue(queue, { payload: { does: 'end' } })
    await until('word of the process', () =>
      current.lines.some((line) => line.startsWith('ended end')),
    )

    expect(crashes).toBe(4)
    const [failed] = await system.jobs(queue, 'dead', 1)
    expect(failed?.failure).toMatch(/stalled more than allowable limit/)
    const ran = Promise.withResolvers<void>()
    current.child.kill('SIGKILL')
    await current.exited
    await system.work(queue, async () => ran.resolve(), FAST_WORK)
    expect(await system.retryDead(queue, failed?.id ?? '')).toBe(true)
    await ran.promise
  })
})
