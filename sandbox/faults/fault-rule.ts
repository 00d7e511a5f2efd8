import { AppError } from '../../src/platform/base/errors.ts'
import { cleanText } from '../../src/platform/base/text.ts'
import { OPERATION_NAMES, type OperationName } from '../answer.ts'
import { isRecord } from '../verify-fares.ts'
import { BODY_FAULTS, SIZE_FAULTS } from './body-faults.ts'
import type { FaultContext, FaultKind, FaultyAnswer } from './fault-kind.ts'
import type { ParameterTable } from './fault-parameters.ts'
import { FIELD_FAULTS } from './field-faults.ts'
import { LIST_FAULTS } from './list-faults.ts'
import { STATUS_FAULTS } from './status-faults.ts'
import { VERIFY_FAULTS } from './verify-faults.ts'
import { WIRE_FAULTS } from './wire-faults.ts'

const KINDS = {
  ...STATUS_FAULTS,
  ...WIRE_FAULTS,
  ...BODY_FAULTS,
  ...SIZE_FAULTS,
  ...LIST_FAULTS,
  ...FIELD_FAULTS,
  ...VERIFY_FAULTS,
}

export type FaultName = keyof typeof KINDS

/** Every fault of the sandbox, by name. */
export const FAULTS: Readonly<Record<FaultName, FaultKind>> = KINDS

export const FAULT_NAMES = Object.keys(KINDS) as readonly FaultName[]

export function isFaultName(name: unknown): name is FaultName {
  return typeof name === 'string' && Object.hasOwn(FAULTS, name)
}

type FaultOperation = OperationName | 'all'

/** A fault, where it applies, how often and for how long. */
export interface FaultRule {
  readonly name: FaultName
  /** If unset, `all`: every operation of the fault. */
  readonly endpoint?: FaultOperation
  /** The probability that a request gets the fault, from 0 to 1. If unset, 1. */
  readonly probability?: number
  /** Real seconds for which the rule holds. If unset, it holds until it is removed. */
  readonly durationSeconds?: number
  /** The parameters of the fault. */
  readonly [parameter: string]: string | number | undefined
}

/** A checked rule, with every default filled in. */
export interface CheckedRule {
  readonly name: FaultName
  readonly endpoint: FaultOperation
  readonly probability: number
  readonly durationSeconds?: number
  readonly parameters: Readonly<Record<string, unknown>>
  readonly endpoints: readonly OperationName[]
  readonly corrupt: (context: FaultContext) => FaultyAnswer | undefined
}

/** A fault rule is invalid. The message names the rule and what is allowed. */
export class SandboxFaultError extends AppError {
  override readonly name = 'SandboxFaultError'
  override readonly code = 'sandbox.fault_rule'
}

const MAX_RULES = 1000
const MAX_DURATION_SECONDS = 30 * 86_400
const COMMON = ['name', 'endpoint', 'probability', 'durationSeconds']

/** Checks all rules before any is used. Throws SandboxFaultError. */
export function readRules(given: unknown): CheckedRule[] {
  if (!Array.isArray(given)) throw new SandboxFaultError('fault rules are an array of objects')
  if (given.length > MAX_RULES) {
    throw new SandboxFaultError(`there are at most ${MAX_RULES} fault rules`)
  }
  return given.map((rule, index) => readRule(rule, `fault rule ${index + 1}`))
}

/** Throws SandboxFaultError unless the value is an array of rules. */
export function assertRules(given: unknown): asserts given is FaultRule[] {
  readRules(given)
}

function readRule(given: unknown, where: string): CheckedRule {
  if (!isRecord(given)) throw new SandboxFaultError(`${where} is not an object`)
  const { name } = given
  if (!isFaultName(name)) {
    throw new SandboxFaultError(
      `${where}: name is ${shown(name)}, but must be one of ${FAULT_NAMES.join(', ')}`,
    )
  }
  const kind = FAULTS[name]
  const fail = (reason: string) => new SandboxFaultError(`${where} (${name}): ${reason}`)
  const parameters = readParameters(given, kind.parameters, fail)
  const endpoint = readOperation(given.endpoint, kind, fail)
  const max = MAX_DURATION_SECONDS
  const duration = readNumber(given, 'durationSeconds', { max, isPositive: true, fail })
  return {
    name,
    endpoint,
    probability: readNumber(given, 'probability', { max: 1, fail }) ?? 1,
    ...(duration === undefined ? {} : { durationSeconds: duration }),
    parameters,
    endpoints: endpoint === 'all' ? kind.endpoints : [endpoint],
    corrupt: (context) => kind.corrupt({ ...context, ...parameters }),
  }
}

type Given = Readonly<Record<string, unknown>>
type Fail = (reason: string) => SandboxFaultError

function readParameters(given: Given, table: ParameterTable, fail: Fail): Record<string, unknown> {
  const unknown = Object.keys(given).find((key) => !COMMON.includes(key) && !(key in table))
  if (unknown !== undefined) {
    const allowed = [...COMMON, ...Object.keys(table)].join(', ')
    throw fail(`it has no parameter ${shown(unknown)}; its parameters are ${allowed}`)
  }
  const read = Object.entries(table).map(([name, parameter]) => {
    if (given[name] === undefined) return [name, parameter.initial] as const
    const value = parameter.read(given[name])
    if (value !== undefined) return [name, value] as const
    throw fail(`${name} is ${shown(given[name])}, but must be ${parameter.accepts}`)
  })
  return Object.fromEntries(read)
}

function readOperation(given: unknown, kind: FaultKind, fail: Fail): FaultOperation {
  if (given === undefined || given === 'all') return 'all'
  const endpoint = OPERATION_NAMES.find((name) => name === given)
  if (endpoint !== undefined && kind.endpoints.includes(endpoint)) return endpoint
  throw fail(`endpoint is ${shown(given)}, but must be one of all, ${kind.endpoints.join(', ')}`)
}

function readNumber(
  given: Given,
  name: string,
  { max, isPositive = false, fail }: { max: number; isPositive?: boolean; fail: Fail },
): number | undefined {
  const value = given[name]
  if (value === undefined) return undefined
  const isInRange = (n: number) => n <= max && (isPositive ? n > 0 : n >= 0)
  if (typeof value === 'number' && isInRange(value)) return value
  const range = isPositive ? `above 0, to ${max}` : `from 0 to ${max}`
  throw fail(`${name} is ${shown(value)}, but must be a number ${range}`)
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : cleanText(JSON.stringify(value), 60)
}

const NUMBER = /^-?\d+(\.\d+)?$/
const FORM = 'NAME[:endpoint][:probability][:seconds][,key=value…]'

/**
 * Parses a rule of one line; readRules checks it. An empty part between two colons is the default.
 * Throws SandboxFaultError for text of another form.
 *
 * @example parseFaultText('status:verify:0.2:60,code=503')
 * // { name: 'status', endpoint: 'verify', probability: 0.2, durationSeconds: 60, code: 503 }
 */
export function parseFaultText(text: string): Record<string, unknown> {
  const [head = '', ...pairs] = text.split(',')
  const [name = '', endpoint = '', probability = '', seconds = '', ...more] = head.split(':')
  if (more.length > 0) throw new SandboxFaultError(`"${head}" has more than four parts: ${FORM}`)
  const given = { name, endpoint, probability, durationSeconds: seconds }
  const parameters = pairs.map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1) throw new SandboxFaultError(`"${pair}" is not key=value: ${FORM}`)
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  })
  const taken = [...Object.entries(given).filter(([, value]) => value !== ''), ...parameters]
  return Object.fromEntries(taken.map(([key, value]) => [key, numberOrText(value)]))
}

function numberOrText(text: string): string | number {
  return NUMBER.test(text) ? Number(text) : text
}
