import { until } from '../support/until.ts'
import type { Stack } from './compose.ts'

const MINUTE_MS = 60_000

interface Alert {
  readonly state: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

export interface Addresses {
  readonly api: string
  readonly prometheus: string
}

/**
 * Kills the API and expects that ApiDown fires after its real time, that doctor runs in the containers, that what the runbook says to do ends the alert, and that the link of the alert leads to its section.
 */
export async function fireAlert(stack: Stack, { api, prometheus }: Addresses): Promise<Alert> {
  stack.compose('up', '--detach', 'prometheus')
  await until('three targets', async () => (await upTargets(prometheus)) === 3, 3 * MINUTE_MS)
  const [container = ''] = stack.compose('ps', '--quiet', 'api').split('\n')
  stack.docker('kill', container)
  const alert = await until('ApiDown', () => firing(prometheus, 'ApiDown'), 6 * MINUTE_MS)

  // Other processes are well, so doctor finds nothing on which an operator must act.
  stack.compose('exec', '-T', 'worker', 'farewatch', 'doctor')

  stack.compose('up', '--detach', 'api')
  const ended = async () => (await firing(prometheus, 'ApiDown')) === undefined
  await until('the end of ApiDown', ended, 3 * MINUTE_MS)
  const [, anchor = ''] = (alert.annotations.runbook_url ?? '').split('#')
  const page = await (await fetch(`${api}/docs/runbooks`)).text()
  if (!page.includes(`id="${anchor}"`)) throw new Error(`the runbooks have no anchor ${anchor}`)
  return alert
}

async function upTargets(prometheus: string): Promise<number> {
  const { result } = (await query(prometheus, 'query?query=sum(up)')) as {
    result: { value: [number, string] }[]
  }
  return Number(result[0]?.value[1] ?? 0)
}

async function firing(prometheus: string, name: string): Promise<Alert | undefined> {
  const { alerts } = (await query(prometheus, 'alerts')) as { alerts: Alert[] }
  return alerts.find(({ state, labels }) => state === 'firing' && labels.alertname === name)
}

/** Before Prometheus listens there is no data. */
async function query(prometheus: string, where: string): Promise<object> {
  try {
    const { data } = (await (await fetch(`${prometheus}/api/v1/${where}`)).json()) as {
      data: object
    }
    return data
  } catch {
    return { result: [], alerts: [] }
  }
}
