/**
 * Makes X.509 certificates (RFC 5280), which Node.js only reads: one of an authority, and those that it issues for a
 * server. Every key is ECDSA P-256, made by Node.js, which signs as well; the library writes the bytes.
 */
import {
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import * as asn1 from '@peculiar/asn1-x509';

const ECDSA_WITH_SHA256 = new asn1.AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' });
const COMMON_NAME = '2.5.4.3';
/** Of a common name (RFC 5280, A.1: ub-common-name). */
const MAX_NAME_LENGTH = 64;
const SERIAL_BYTES = 16;
const IS_CRITICAL = true;

/** When a certificate is valid, in milliseconds since 1970; the certificate itself has whole seconds. */
export interface Validity {
  readonly beginMs: number;
  readonly endMs: number;
}

/** A certificate with its private key, as PEM. */
export interface Issued {
  readonly certificate: string;
  readonly key: string;
}

/** Makes an authority that may issue certificates, but no further authorities. */
export function issueAuthority(name: string, validity: Validity): Issued {
  const keys = newKeys();
  const subject = nameOf(name);
  const id = keyIdOf(keys.publicKey);
  const extensions = [
    extension(
      asn1.id_ce_basicConstraints,
      new asn1.BasicConstraints({ cA: true, pathLenConstraint: 0 }),
      IS_CRITICAL,
    ),
    usage(asn1.KeyUsageFlags.keyCertSign | asn1.KeyUsageFlags.cRLSign),
  ];
  return issue(
    { subject, ...keys },
    { name: subject, id, key: keys.privateKey },
    validity,
    extensions,
  );
}

/**
 * Issues the certificate of a server.
 *
 * @param names host names and IP addresses; the first one is the common name, too
 */
export function issueServer(
  authority: X509Certificate,
  authorityKey: KeyObject,
  names: readonly string[],
  validity: Validity,
): Issued {
  const [commonName = ''] = names;
  const { subject } = AsnConvert.parse(authority.raw, asn1.Certificate).tbsCertificate;
  const issuer = { name: subject, id: keyIdOf(authority.publicKey), key: authorityKey };
  const all = names.map(
    (name) => new asn1.GeneralName(isIP(name) === 0 ? { dNSName: name } : { iPAddress: name }),
  );
  return issue({ subject: nameOf(commonName), ...newKeys() }, issuer, validity, [
    usage(asn1.KeyUsageFlags.digitalSignature),
    extension(asn1.id_ce_extKeyUsage, new asn1.ExtendedKeyUsage([asn1.id_kp_serverAuth])),
    extension(asn1.id_ce_subjectAltName, new asn1.SubjectAlternativeName(all)),
  ]);
}

interface Subject {
  readonly subject: asn1.Name;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

interface Issuer {
  readonly name: asn1.Name;
  readonly id: ArrayBuffer;
  readonly key: KeyObject;
}

function issue(
  { subject, publicKey, privateKey }: Subject,
  issuer: Issuer,
  { beginMs, endMs }: Validity,
  extensions: readonly asn1.Extension[],
): Issued {
  const keyIdentifier = new asn1.KeyIdentifier(issuer.id);
  const tbsCertificate = new asn1.TBSCertificate({
    version: asn1.Version.v3,
    serialNumber: newSerial(),
    signature: ECDSA_WITH_SHA256,
    issuer: issuer.name,
    validity: new asn1.Validity({ notBefore: wholeSecond(beginMs), notAfter: wholeSecond(endMs) }),
    subject,
    subjectPublicKeyInfo: publicKeyInfo(publicKey),
    extensions: new asn1.Extensions([
      ...extensions,
      extension(asn1.id_ce_subjectKeyIdentifier, new asn1.SubjectKeyIdentifier(keyIdOf(publicKey))),
      extension(
        asn1.id_ce_authorityKeyIdentifier,
        new asn1.AuthorityKeyIdentifier({ keyIdentifier }),
      ),
    ]),
  });
  const signature = sign('sha256', Buffer.from(AsnConvert.serialize(tbsCertificate)), issuer.key);
  const whole = new asn1.Certificate({
    tbsCertificate,
    signatureAlgorithm: ECDSA_WITH_SHA256,
    signatureValue: bytesOf(signature),
  });
  return {
    certificate: new X509Certificate(Buffer.from(AsnConvert.serialize(whole))).toString(),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function newKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
}

function nameOf(text: string): asn1.Name {
  const value = new asn1.AttributeValue({ utf8String: text.slice(0, MAX_NAME_LENGTH) });
  const part = new asn1.AttributeTypeAndValue({ type: COMMON_NAME, value });
  return new asn1.Name([new asn1.RelativeDistinguishedName([part])]);
}

function extension(id: string, value: object, critical = false): asn1.Extension {
  const extnValue = new OctetString(AsnConvert.serialize(value));
  return new asn1.Extension({ extnID: id, critical, extnValue });
}

function usage(flags: number): asn1.Extension {
  return extension(asn1.id_ce_keyUsage, new asn1.KeyUsage(flags), IS_CRITICAL);
}

function publicKeyInfo(key: KeyObject): asn1.SubjectPublicKeyInfo {
  return AsnConvert.parse(key.export({ type: 'spki', format: 'der' }), asn1.SubjectPublicKeyInfo);
}

/** The SHA-1 of the key, which only tells keys apart (RFC 5280, 4.2.1.2). */
function keyIdOf(key: KeyObject): ArrayBuffer {
  const { subjectPublicKey } = publicKeyInfo(key);
  return bytesOf(createHash('sha1').update(Buffer.from(subjectPublicKey)).digest());
}

/** A random number, positive and of fixed length (RFC 5280, 4.1.2.2). */
function newSerial(): ArrayBuffer {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = (bytes.readUInt8(0) & 0x3f) | 0x40;
  return bytesOf(bytes);
}

function wholeSecond(ms: number): Date {
  return new Date(Math.floor(ms / 1_000) * 1_000);
}

function bytesOf(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}
