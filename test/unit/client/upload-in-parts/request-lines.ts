/** Patterns for the requests in the log of `startUploads`. */

export const START = /^POST \/multipart$/
export const SIGN = /\/parts$/
export const LIST = /\/list$/
export const COMPLETE = /\/complete$/
export const ABORT = /\/multipart\/abort$/
export const PUT = /^PUT/
export const ONE_PUT = /^POST \/upload$/
