import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { parse } from 'yaml'
import { listenLocally } from '../support/local-server.ts'
import { hasAmtool } from '../support/promtool.ts'
import { freePort } from '../support/redis-tier.ts'
import { until } from '../support/until.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../grafana/prometheus')
/** What Debian calls the program. */
const PROGRAM = 'prometheus-alertmanager'

interface Alert {
  readonly labels: Readonly<Record<string, string>>
  readonly status: { readonly state: string }
}

interface Notification {
  readonly receiver: string
  readonly groupLabels: Readonly<Record<string, string>>
  readonly alerts: readonly Pick<Alert, 'labels'>[]
}

const EXAMPLE = readFileSync(path.join(FOLDER, 'alertmanager.yml'), 'utf8')
const { inhibit_rules: RULES } = parse(EXAMPLE) as {
  inhibit_rules: { source_matchers: string[]; target_matchers: string[] }[]
}
const SEVERITIES = new Map(
  (
    parse(readFileSync(path.join(FOLDER, 'alerts.yml'), 'utf8')) as {
      groups: { rules: { alert?: string; labels?: { severity: string } }[] }[]
    }
  ).groups.flatMap(({ rules }) => rules.map(({ alert, labels }) => [alert, labels?.severity])),
)

const namesIn = (matchers: readonly string[]) =>
  matchers.flatMap((matcher) => matcher.match(/[A-Z]\w+/g) ?? [])

/** An alert as Prometheus sends it. */
const alertOf = (alertname: string, environment: string) => ({
  labels: { alertname, environment, job: 'farewatch', severity: SEVERITIES.get(alertname) ?? '' },
})

/** Collects the notifications of an Alertmanager. */
async function startReceiver(): Promise<{ url: string; received: Notification[] }> {
  const received: Notification[] = []
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      received.push(body as Notification)
      response.end()
    })
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return { url: `${url}/`, received }
}

/** Starts an Alertmanager with the example. The addresses of its receivers are another, and it waits shorter. */
async function startAlertmanager(receiver: string): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-alertmanager-'))
  const config = EXAMPLE.replaceAll(/url: .*/g, `url: ${receiver}`).replace(
    'group_wait: 30s',
    'group_wait: 2s',
  )
  await writeFile(path.join(folder, 'alertmanager.yml'), config)
  const address = `127.0.0.1:${await freePort()}`
  const server = spawn(
    PROGRAM,
    [
      `--config.file=${path.join(folder, 'alertmanager.yml')}`,
      `--storage.path=${path.join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  )
  const ended = once(server, 'exit')
  onTestFinished(async () => {
    server.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  await until('Alertmanager', () =>
    fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return `http://${address}/api/v2/alerts`
}

it.runIf(hasAmtool())(
  'a running Alertmanager notifies once of an outage of an environment, without what the example suppresses',
  async () => {
    const { url, received } = await startReceiver()
    const alerts = await startAlertmanager(url)
    // Each rule has an environment, where its sources and targets fire. Its targets fire alone in another.
    const cases = RULES.map(({ source_matchers, target_matchers }, i) => ({
      environment: `outage-${i}`,
      sources: namesIn(source_matchers),
      targets: namesIn(target_matchers),
    }))
    const sent = cases.flatMap(({ environment, sources, targets }) => [
      ...[...sources, ...targets].map((name) => alertOf(name, environment)),
      ...targets.map((name) => alertOf(name, `${environment}-alone`)),
    ])
    await fetch(alerts, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    })
    const notified = () =>
      received.flatMap(({ receiver, groupLabels, alerts: group }) =>
        group.map(({ labels }) => `${groupLabels.environment} ${labels.alertname} ${receiver}`),
      )
    const wanted = (name: string, environment: string) =>
      `${environment} ${name} ${SEVERITIES.get(name) === 'critical' ? 'on-call' : 'team'}`
    const isSuppressed = (name: string, environment: string) =>
      cases.some(
        (one) =>
          one.targets.includes(name) &&
          one.sources.some((source) =>
            sent.some(
              ({ labels }) => labels.alertname === source && labels.environment === environment,
            ),
          ),
      )
    const expected = sent
      .map(({ labels: { alertname, environment } }) => ({ alertname, environment }))
      .filter(({ alertname, environment }) => !isSuppressed(alertname, environment))
      .map(({ alertname, environment }) => wanted(alertname, environment))

    await until('the notifications', () => notified().length >= expected.length)

    expect(notified().toSorted()).toEqual(expected.toSorted())
    // One notification an environment and receiver.
    const groups = received.map(
      ({ receiver, groupLabels }) => `${receiver} ${groupLabels.environment}`,
    )
    expect(groups).toHaveLength(new Set(groups).size)
    const states = (await (await fetch(alerts)).json()) as Alert[]
    const suppressed = states.filter(({ status }) => status.state === 'suppressed')
    expect(suppressed).toHaveLength(sent.length - expected.length)
  },
)
