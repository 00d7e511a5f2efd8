import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parse } from 'yaml'

export const ROOT = path.resolve(import.meta.dirname, '../..')

export interface Service {
  readonly image: string
  readonly build?: unknown
  readonly profiles?: readonly string[]
  readonly environment?: Readonly<Record<string, string | null>>
  readonly secrets?: readonly string[]
  readonly networks?: readonly string[]
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly container_name?: string
  readonly read_only?: boolean
  readonly tmpfs?: readonly string[]
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly privileged?: boolean
  readonly mem_limit?: string
  readonly cpus?: number
  readonly logging?: { readonly options: Readonly<Record<string, string>> }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly command?: readonly string[]
}

export interface ComposeFile {
  readonly name?: string
  readonly services: Readonly<Record<string, Service>>
  readonly networks: Readonly<Record<string, { readonly internal?: boolean } | null>>
  readonly volumes: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
}

export const COMPOSE_TEXT = readFileSync(path.join(ROOT, 'docker-compose.yml'), 'utf8')
export const COMPOSE = parse(COMPOSE_TEXT, { merge: true }) as ComposeFile
export const SERVICES = Object.entries(COMPOSE.services)
/** The services that run the image of this repository. */
export const OURS = SERVICES.filter(([, service]) => service.build !== undefined)

/** The service of that name. Throws if there is none. */
export function serviceOf(name: string): Service {
  const found = SERVICES.find(([other]) => other === name)
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`)
  return found[1]
}

/** Replaces the variables in a text by their defaults. */
export function withDefaults(text: string): string {
  return text.replace(/\$\{\w+(?::-([^}]*))?[^}]*\}/g, (_all, preset?: string) => preset ?? '')
}
