import { useMemo } from 'preact/hooks';
import { encode } from 'uqr';

/** The white border, in modules (ISO/IEC 18004). */
const QUIET_ZONE = 4;

/** A text as a QR code: dark on light in any theme, because not every camera reads the inverse. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }) {
  const { size, data } = useMemo(() => encode(text, { border: QUIET_ZONE, ecc: 'M' }), [text]);
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [[x, y]] : [])));
  return (
    <svg class="qr-code" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#ffffff" />
      <path
        d={dark.map(([x, y]) => `M${x} ${y}h1v1h-1z`).join('')}
        fill="#000000"
        shape-rendering="crispEdges"
      />
    </svg>
  );
}
