import { once } from 'node:events'
import net from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { seqsOf, startStreamWorld, upTo } from './stream-world.ts'

// Fault: A client of a stream does not read.
it('the stream of a reseller cuts off a client that does not read, while others go on, and continues for it later', async ({
  db,
  databaseUrl,
}) => {
  const metrics = createMetrics()
  const { base, ana, append, open } = await startStreamWorld(db, databaseUrl, {
    streams: { metrics, writeDeadlineMs: 3_000 },
  })
  const stalled = net.connect(Number(new URL(base).port), '127.0.0.1')
  onTestFinished(() => void stalled.destroy())
  stalled.on('error', () => undefined)
  stalled.write(
    `GET /api/v1/watch-changes/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${ana.key}\r\n\r\n`,
  )
  await once(stalled, 'readable')
  const others = await Promise.all([open(), open()])

  const reading = others.map((stream) => stream.events(60))
  for (let i = 0; i < 3; i += 1) await append(20, { padding: 300_000 })
  const read = await Promise.all(reading)
  await until('that the client is cut off', async () => {
    const { values } = await metrics.streamEnded.get()
    return values.some(({ labels, value }) => labels.reason === 'slow' && value === 1)
  })

  expect(read.map(seqsOf)).toEqual([upTo(60), upTo(60)])
  const again = await open('', { lastEventId: '58' })
  expect(seqsOf(await again.events(2))).toEqual([59, 60])
})
