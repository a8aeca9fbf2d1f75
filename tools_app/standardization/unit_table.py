"""How units are written, by the UCUM code each stands for. Data only; units.py reads it."""

# Spelled in any case these can mean one thing only, so their all-capitals and all-lower-case forms are accepted too.
# Left out on purpose: g/L and U/L look-alikes such as "G/L" (also giga per litre) and anything where M may be mega.
ANY_CASE: tuple[str, ...] = (
    "mg/dL", "g/dL", "mg/L", "ug/L", "ug/dL", "ug/mL", "ng/mL", "ng/dL", "ng/L", "pg/mL", "mg/mL",
    "mmol/L", "umol/L", "nmol/L", "pmol/L", "mmol/mol", "kg/m2", "U/L", "U/mL", "fL", "mm/h", "kg", "cm", "mL/min",
)  # fmt: skip

WRITTEN_AS: dict[str, tuple[str, ...]] = {
    # amounts in a volume
    "mg/dL": ("mg/100mL", "mg/100ml", "mg%", "毫克/分升", "mg/dl."),
    "g/dL": ("g/100mL", "g/100ml", "g%", "gm/dL", "gm/dl", "克/分升"),
    "g/L": ("g/l", "gm/L", "克/升"),
    "mg/L": ("毫克/升",),
    "ug/L": ("mcg/L", "mcg/l", "微克/升"),
    "ug/dL": ("mcg/dL", "mcg/dl", "微克/分升"),
    "ug/mL": ("mcg/mL", "mcg/ml", "微克/毫升"),
    "ng/mL": ("纳克/毫升", "ng/ml."),
    "pg/mL": ("皮克/毫升",),
    "ng/L": ("纳克/升",),
    "mmol/L": ("mmol/l.", "mM", "毫摩尔/升", "毫摩/升", "mmoL/L", "mMol/L", "mMol/l"),
    "umol/L": ("uM", "mcmol/L", "微摩尔/升", "微摩/升", "uMol/L", "umoL/L"),
    "nmol/L": ("nM", "纳摩尔/升", "nMol/L"),
    "pmol/L": ("皮摩尔/升", "pMol/L"),
    "meq/L": ("mEq/L", "mEq/l", "meq/l", "MEQ/L", "毫当量/升"),
    "mosm/kg": ("mOsm/kg", "mOsm/Kg", "mOsmol/kg", "mosmol/kg", "mOsm/kgH2O"),
    # activity in a volume
    "U/L": ("u/L", "单位/升"),
    "[IU]/L": ("IU/L", "IU/l", "iu/l", "iu/L", "国际单位/升"),
    "[IU]/mL": ("IU/mL", "IU/ml", "iu/ml", "IU/ML", "国际单位/毫升"),
    "m[IU]/L": ("mIU/L", "mIU/l", "miu/l", "miu/L"),
    "m[IU]/mL": ("mIU/mL", "mIU/ml", "miu/ml"),
    "u[IU]/mL": ("uIU/mL", "uIU/ml", "uiu/ml", "uIU/ML", "UIU/ML", "mcIU/mL", "mcIU/ml"),
    "k[IU]/L": ("kIU/L", "kIU/l"),
    "mU/L": ("mU/l",),
    "uU/mL": ("uU/ml",),
    "kU/L": ("kU/l",),
    # counts in a volume
    "10*9/L": (
        "10^9/L", "10^9/l", "x10^9/L", "10E9/L", "10e9/L", "x10E9/L", "x10e9/L", "E9/L", "10~9/L", "Gpt/L", "10^9个/L",
        "x10*9/L", "x10^9/l", "10**9/L",
    ),
    "10*12/L": (
        "10^12/L", "10^12/l", "x10^12/L", "10E12/L", "10e12/L", "x10E12/L", "x10e12/L", "E12/L", "Tpt/L", "10^12个/L",
        "x10*12/L", "x10^12/l", "10**12/L",
    ),
    "10*6/L": ("10^6/L", "x10^6/L", "10E6/L", "x10E6/L", "x10*6/L"),
    "10*3/uL": (
        "10^3/uL", "x10^3/uL", "10E3/uL", "x10E3/uL", "10e3/uL", "x10*3/uL", "K/uL", "k/uL", "K/ul", "k/ul", "K/UL",
        "K/mcL", "k/mcL", "Thousand/uL", "thousand/uL", "thou/uL", "10^3/mm3", "x10^3/mm3", "K/mm3", "K/cumm",
        "10^3/ul", "x10^3/ul", "10*3/ul",
    ),
    "10*6/uL": (
        "10^6/uL", "x10^6/uL", "10E6/uL", "x10E6/uL", "10e6/uL", "x10*6/uL", "M/uL", "M/ul", "M/mcL", "Million/uL",
        "million/uL", "mil/uL", "10^6/mm3", "x10^6/mm3", "M/mm3", "10^6/ul", "x10^6/ul",
    ),
    "/uL": (
        "/ul", "cells/uL", "cells/ul", "cell/uL", "个/uL", "个/ul", "/mm3", "cells/mm3", "/cumm", "/cmm", "{cells}/uL",
    ),
    "{copies}/mL": ("copies/mL", "copies/ml", "拷贝/mL", "拷贝/ml"),
    "/[HPF]": ("/HPF", "/hpf", "/HP", "/hp", "个/HP", "个/HPF", "{cells}/[HPF]"),
    "/[LPF]": ("/LPF", "/lpf", "/LP", "/lp", "个/LP", "个/LPF"),
    # ratios
    "%": ("percent", "pct", "百分比"),
    "mmol/mol": ("mmol/molHb", "毫摩尔/摩尔"),
    "mg/g": ("mg/gCr", "mg/gcr", "mg/g{creat}", "mg/gcreat", "mg/gcreatinine"),
    "mg/mmol": ("mg/mmolCr", "mg/mmolcreat"),
    "{INR}": ("INR", "inr"),
    "1": (),
    "{ratio}": ("ratio", "比值"),
    "[pH]": ("pH", "PH", "ph"),
    # rates
    "/min": (
        "bpm", "BPM", "beats/min", "beat/min", "beats/minute", "beatsperminute", "次/分", "次/分钟", "次/min",
        "count/min", "counts/min", "breaths/min", "breath/min", "breaths/minute", "brpm", "1/min", "min-1", "每分钟",
        "/分", "/分钟",
    ),
    "mm/h": ("mm/hr", "mm/1h", "mm/hour", "毫米/小时", "mm/H", "MM/HR"),
    "mL/min": ("毫升/分", "毫升/分钟"),
    "mL/min/{1.73_m2}": (
        "mL/min/1.73m2", "ml/min/1.73m2", "mL/min/1.73m^2", "ml/min/1.73m^2", "mL/min/1.73.m2", "mL/(min.1.73m2)",
        "ml/(min.1.73m2)", "mL/min/1.73", "ml/min/1.73", "mL/min/1.73sqm", "mL/min/{1.73_m2}", "ML/MIN/1.73M2",
        "mL/min/1.73M2", "ml/min*1.73m2", "mL/min*1.73m2", "mL/min.1.73m2", "ml/min.1.73m2", "ml/min/1.73.m2",
        "ml/min/{1.73_m2}",
    ),
    "mL/kg/min": (
        "ml/kg/min", "mL/min/kg", "ml/min/kg", "mL/(kg.min)", "ml/(kg.min)", "mL/(min.kg)", "ml/(min.kg)", "mL/kg.min",
        "ml/kg.min", "mL/min.kg", "ml/min.kg",
    ),
    "mg/(24.h)": ("mg/24h", "mg/24hr", "mg/24hrs", "mg/24小时"),
    "g/(24.h)": ("g/24h", "g/24hr", "g/24hrs", "g/24小时"),
    "km/h": ("kph", "km/hr", "公里/小时"),
    # pressure and temperature
    "mm[Hg]": ("mmHg", "mmhg", "MMHG", "mmHG", "MmHg", "毫米汞柱", "torr"),
    "kPa": ("kpa", "KPa", "千帕"),
    "Cel": ("°C", "C", "degC", "degreesC", "°c", "摄氏度", "celsius", "Celsius", "degreesCelsius", "deg.C"),
    "[degF]": ("°F", "F", "degF", "degreesF", "°f", "华氏度", "fahrenheit", "Fahrenheit", "degreesFahrenheit", "deg.F"),
    # mass, length, volume
    "kg": ("Kg", "kgs", "kilogram", "kilograms", "kilo", "公斤", "千克"),
    "g": ("gram", "grams", "gm", "克"),
    "mg": ("毫克", "milligram", "milligrams"),
    "ug": ("mcg", "微克"),
    "pg": ("皮克", "PG", "Pg"),
    "[lb_av]": ("lb", "lbs", "LB", "LBS", "Lb", "Lbs", "pound", "pounds", "磅"),
    "[oz_av]": ("oz", "ounce", "ounces", "盎司"),
    "[stone_av]": ("stone", "stones"),
    "cm": ("厘米", "公分", "centimeter", "centimeters", "centimetre", "centimetres"),
    "mm": ("毫米", "millimeter", "millimeters"),
    "m": ("米", "meter", "meters", "metre", "metres", "公尺"),
    "km": ("KM", "Km", "公里", "千米", "kilometer", "kilometers", "kilometre", "kilometres"),
    "[in_i]": ("in", "inch", "inches", "英寸"),
    "[ft_i]": ("ft", "foot", "feet", "英尺"),
    "[mi_i]": ("mi", "mile", "miles", "英里"),
    "mL": ("ml", "cc", "毫升"),
    "L": ("l", "升", "liter", "liters", "litre", "litres"),
    "fL": ("飞升",),
    "kg/m2": ("kg/m^2", "公斤/平方米", "千克/平方米", "kg/sqm"),
    # time
    "ms": ("msec", "millisecond", "milliseconds", "毫秒"),
    "s": ("sec", "secs", "second", "seconds", "秒"),
    "min": ("mins", "minute", "minutes", "分钟", "分"),
    "h": ("hr", "hrs", "hour", "hours", "小时", "个小时", "时"),
    "d": ("day", "days", "天", "日"),
    "wk": ("week", "weeks", "周"),
    "mo": ("month", "months", "个月"),
    "a": ("year", "years", "yr", "yrs", "岁", "年"),
    # energy and counts
    "kcal": ("Kcal", "KCAL", "kCal", "Cal", "大卡", "千卡", "kilocalorie", "kilocalories", "[Cal]"),
    "kJ": ("kj", "KJ", "千焦"),
    "{steps}": ("steps", "step", "Steps", "步", "{step}"),
    "{count}": ("count", "counts", "次", "个"),
    # assays that report against their own standard
    "mg/L{FEU}": ("mg/LFEU", "mgFEU/L", "mg/L(FEU)", "mg{FEU}/L"),
    "ug/mL{FEU}": ("ug/mLFEU", "ugFEU/mL", "ug/mL(FEU)", "ug{FEU}/mL", "mcg/mLFEU", "mcgFEU/mL", "ug/mlFEU"),
    "ng/mL{FEU}": ("ng/mLFEU", "ngFEU/mL", "ng/mL(FEU)", "ng{FEU}/mL", "ng/mlFEU"),
    "ug/L{FEU}": ("ug/LFEU", "ugFEU/L", "ug/L(FEU)", "ug{FEU}/L"),
    "ng/mL{DDU}": ("ng/mLDDU", "ngDDU/mL", "ng/mL(DDU)", "ng{DDU}/mL", "ng/mlDDU"),
    "ug/L{DDU}": ("ug/LDDU", "ugDDU/L", "ug/L(DDU)", "ug{DDU}/L"),
}  # fmt: skip

# Valid UCUM, but in health data as likely something else: a food calorie, a stone of weight, a bare letter.
AMBIGUOUS: frozenset[str] = frozenset({"cal", "st", "B", "b", "u"})
