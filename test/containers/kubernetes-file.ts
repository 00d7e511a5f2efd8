import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'
import { ROOT } from './compose-file.ts'

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

export interface Container {
  readonly args: readonly string[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly securityContext: object
  readonly resources: { readonly requests: object; readonly limits: { readonly memory: string } }
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly startupProbe?: Probe
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
}

interface PodSpec {
  readonly containers: readonly [Container]
  readonly enableServiceLinks: boolean
  readonly automountServiceAccountToken: boolean
  readonly terminationGracePeriodSeconds: number
  readonly securityContext: object
}

interface Item {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
  readonly spec?: { readonly template?: { readonly spec: PodSpec } }
}

const FILE = path.join(ROOT, 'deploy/kubernetes/farewatch.yaml')
const { items } = parse(readFileSync(FILE, 'utf8'), { merge: true }) as { items: readonly Item[] }

/** The environment of all containers. */
export const ENVIRONMENT = items.find(({ kind }) => kind === 'ConfigMap')?.data ?? {}
/** The pods by the name of their job or deployment. */
export const PODS = items.flatMap(({ metadata, spec }) =>
  spec?.template === undefined ? [] : [[metadata.name, spec.template.spec] as const],
)
